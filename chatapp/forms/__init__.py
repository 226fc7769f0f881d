"""Forms: what people may enter, and in which bounds.

``conversations``  a new one, its title and budget, a place to rewind to
``attempts``       which condensations to list
``commands``       names for texts that are sent often
``thresholds``     a percentage, and whose it is
``profiles``       how a model is reached, its limits and prices
``policies``       which tools may run
``prompts``        what the model is told
``preferences``    how condensing and the agent work for one user
``servers``        an MCP server, and its tools
``tokens``         what a token for the API may do
``what_if``        settings to compare with those in force
``sign_in``        a name and a password
"""

from chatapp.forms.attempts import AttemptFilter
from chatapp.forms.commands import CommandFormSet, command_forms
from chatapp.forms.conversations import BudgetForm, NewConversationForm, RenameForm, RewindForm
from chatapp.forms.policies import PoliciesForm
from chatapp.forms.preferences import PreferencesForm, default_prompt
from chatapp.forms.profiles import ProfileForm, model_defaults, plain, provider_traits
from chatapp.forms.prompts import SystemPromptForm
from chatapp.forms.servers import McpServerForm
from chatapp.forms.sign_in import SignInForm
from chatapp.forms.thresholds import ThresholdChoice
from chatapp.forms.tokens import TokenForm
from chatapp.forms.what_if import WhatIfForm

__all__ = [
    "AttemptFilter",
    "BudgetForm",
    "CommandFormSet",
    "McpServerForm",
    "NewConversationForm",
    "PoliciesForm",
    "PreferencesForm",
    "ProfileForm",
    "RenameForm",
    "RewindForm",
    "SignInForm",
    "SystemPromptForm",
    "ThresholdChoice",
    "TokenForm",
    "WhatIfForm",
    "command_forms",
    "default_prompt",
    "model_defaults",
    "plain",
    "provider_traits",
]
