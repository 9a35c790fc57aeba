heedml._core.__prefix__:
    from numpy import bool_, int32
    from numpy.typing import ArrayLike, DTypeLike, NDArray
    __version__: str

heedml._core.Tensor.__eq__:
    def __eq__(self, other: object, /) -> NDArray[bool_]: ...  # type: ignore[override]

heedml._core.Tensor.__ne__:
    def __ne__(self, other: object, /) -> NDArray[bool_]: ...  # type: ignore[override]
