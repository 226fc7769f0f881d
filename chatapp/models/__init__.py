"""Everything that is stored, by theme.

``accounts``       who signs in, and how they want things: SignInToken, Profile, Preferences
``conversations``  what was said: Conversation, Message
``turns``          what happened: Turn, Rewind
``records``        what was done about it: Condensation, ModelCall
"""

from chatapp.models.accounts import Preferences, Profile, SignInToken
from chatapp.models.conversations import Conversation, Message
from chatapp.models.records import Condensation, ModelCall
from chatapp.models.turns import Rewind, Turn

__all__ = [
    "Condensation",
    "Conversation",
    "Message",
    "ModelCall",
    "Preferences",
    "Profile",
    "Rewind",
    "SignInToken",
    "Turn",
]
