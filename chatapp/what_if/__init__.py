"""What-if: what a stored conversation would come to with other settings; nothing is applied.

``baseline`` a conversation as it is now, read once for all trials
``trials``   what one strategy makes of it
``writers``  who writes a summary for it: a model, on record, or nobody
``cards``    trials, ready to show
"""

from chatapp.what_if.baseline import Baseline, read_baseline, terms_of
from chatapp.what_if.cards import card_of
from chatapp.what_if.trials import Trial, predict_cost, try_all, try_with_model

__all__ = [
    "Baseline",
    "Trial",
    "card_of",
    "predict_cost",
    "read_baseline",
    "terms_of",
    "try_all",
    "try_with_model",
]
