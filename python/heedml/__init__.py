"""heed: trains attention, shows what it learned, and tests whether it is the cause.

    import heedml

    scope = heedml.Scope(seed=1)
    layer = heedml.Linear(scope, 1, 1)
    adam = heedml.Adam(scope.parameters, lr=0.05)
    x = heedml.tensor([[-1.0], [0.0], [1.0], [2.0]])
    for step in range(500):
        with heedml.Recording():
            adam.step(heedml.mse_loss(layer(x), 2 * x - 1).backward())

`heedml.train("toy.yaml")` trains what a configuration describes, `heedml.load(path)` opens a run or a pretrained model.
"""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._core import *  # noqa: F403
from ._core import __version__ as __version__
from .classes import Classified as Classified
from .configs import bare_transformer as bare_transformer
from .configs import bert as bert
from .configs import candidate_chooser as candidate_chooser
from .configs import gpt2 as gpt2
from .configs import language_model as language_model
from .configs import llama as llama
from .configs import masked_language_model as masked_language_model
from .configs import text_classifier as text_classifier
from .configs import word_answerer as word_answerer
from .data import Loader as Loader
from .data import kfold as kfold
from .data import pad_sequences as pad_sequences
from .data import train_test_split as train_test_split
from .derivatives import CheckReport as CheckReport
from .derivatives import GradientError as GradientError
from .derivatives import check_gradients as check_gradients
from .derivatives import hessian as hessian
from .derivatives import hvp as hvp
from .derivatives import jacobian as jacobian
from .derivatives import jvp as jvp
from .derivatives import vjp as vjp
from .errors import Error as Error
from .errors import FileError as FileError
from .errors import NotFinite as NotFinite
from .errors import OutOfMemoryError as OutOfMemoryError
from .functions import SGD as SGD
from .functions import Adagrad as Adagrad
from .functions import Adam as Adam
from .functions import AdamW as AdamW
from .functions import Lion as Lion
from .functions import Muon as Muon
from .functions import RMSprop as RMSprop
from .functions import custom_operation as custom_operation
from .functions import grad as grad
from .functions import load_tensors as load_tensors
from .functions import save_tensors as save_tensors
from .functions import show_config as show_config
from .functions import value_and_grad as value_and_grad
from .interventions import Intervention as Intervention
from .interventions import Place as Place
from .interventions import ablate as ablate
from .interventions import cut as cut
from .interventions import intervene as intervene
from .interventions import patch as patch
from .interventions import replace as replace
from .interventions import steer as steer
from .logs import Log as Log
from .models import Model as Model
from .models import curves as curves
from .models import inspect as inspect
from .models import load as load
from .page import Page as Page
from .pairs import Pairs as Pairs
from .studies import Attention as Attention
from .studies import Causes as Causes
from .studies import Circuit as Circuit
from .studies import ComparedCircuits as ComparedCircuits
from .studies import Curves as Curves
from .studies import Evaluation as Evaluation
from .studies import Generated as Generated
from .studies import Heads as Heads
from .studies import History as History
from .studies import Induction as Induction
from .studies import Match as Match
from .studies import Report as Report
from .studies import Restored as Restored
from .studies import Result as Result
from .studies import Steps as Steps
from .studies import Verification as Verification
from .studies import Weights as Weights
from .studies import Why as Why
from .studies import WhyAnswer as WhyAnswer
from .traces import Trace as Trace
from .training import Experiment as Experiment
from .training import train as train

from . import docs as _docs

_docs.add_to(globals())

if not _TYPE_CHECKING:  # to a type checker a missing name is an error already
    from . import hints as _hints

    def __getattr__(name: str) -> None:
        raise _hints.missing("heedml", _hints.OF_MODULE, list(globals()), name)

    if not (_sys.argv and _sys.argv[0].endswith("stubgen.py")):  # which writes what the class has
        from . import tensors as _tensors

        _hints.add_to(globals())
        _tensors.add_to(Tensor)  # noqa: F405
