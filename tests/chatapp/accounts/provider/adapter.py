from typing import Any, override

from allauth.idp.oidc.adapter import DefaultOIDCAdapter

from tests.chatapp.accounts.provider import PEOPLE


class Adapter(DefaultOIDCAdapter):
    """Says of whoever signs in which groups they are in, and that their address is verified."""

    @override
    def get_claims(self, purpose: Any, user: Any, client: Any, scopes: Any, **more: Any) -> Any:
        """Return what is said."""
        claims = super().get_claims(purpose, user, client, scopes, **more)
        domain = "example.org" if user.username == "dana" else "example.com"
        said = {"email": f"{user.username}@{domain}", "email_verified": True}
        return claims | said | {"groups": PEOPLE[user.username]}
