from typing import Any, override

from allauth.idp.oidc.adapter import DefaultOIDCAdapter

from tests.chatapp.accounts.provider import MORE, ODD, PEOPLE, UNVERIFIED


class Adapter(DefaultOIDCAdapter):
    """Says of whoever signs in which groups they are in, and whether their address is verified."""

    @override
    def get_claims(self, purpose: Any, user: Any, client: Any, scopes: Any, **more: Any) -> Any:
        """Return what is said."""
        claims = super().get_claims(purpose, user, client, scopes, **more)
        name = user.username
        domain = "example.com" if name == "erin" else "example.org"
        said = {"email": f"{name}@{domain}", "email_verified": name not in UNVERIFIED}
        other = ODD | MORE if purpose == "userinfo" else MORE
        claims |= said | {"groups": PEOPLE.get(name, [])} | other.get(name, {})
        return {claim: value for claim, value in claims.items() if value is not None}
