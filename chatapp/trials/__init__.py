"""What a stored conversation would come to with other settings; nothing of it is applied.

``present`` a conversation as it is now, read once for all that is tried
``trying``  what one strategy makes of it
``showing`` that, ready to show
``asking``  who writes a summary for it: a model, on record, or nobody
"""

from chatapp.trials.present import Present, read_present, terms_of
from chatapp.trials.showing import card_of
from chatapp.trials.trying import Tried, predict_cost, try_all, try_with_model

__all__ = [
    "Present",
    "Tried",
    "card_of",
    "predict_cost",
    "read_present",
    "terms_of",
    "try_all",
    "try_with_model",
]
