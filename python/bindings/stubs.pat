heedml._core.__prefix__:
    from os import PathLike
    from numpy import bool_, int32
    from numpy.typing import ArrayLike, DTypeLike, NDArray
    __version__: str

heedml._core.Tensor.__eq__:
    def __eq__(self, other: object, /) -> NDArray[bool_]: ...  # type: ignore[override]

heedml._core.Tensor.__ne__:
    def __ne__(self, other: object, /) -> NDArray[bool_]: ...  # type: ignore[override]

heedml._core._Model.save:
    def save(self, path: str | PathLike[str]) -> None:
        \doc

heedml._core._Model.export_hugging_face:
    def export_hugging_face(self, directory: str | PathLike[str]) -> list[str]:
        \doc

heedml._core._Model.load_adapter:
    def load_adapter(self, directory: str | PathLike[str]) -> None:
        \doc

heedml._core._Model.export_adapter:
    def export_adapter(self, directory: str | PathLike[str]) -> list[str]:
        \doc
