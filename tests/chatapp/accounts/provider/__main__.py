"""Serve until ended; started with the address that people are sent back to, it prints its own."""

import os
import sys
from socketserver import ThreadingMixIn
from typing import Any, override
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.chatapp.accounts.provider.settings"

import django

django.setup()

from allauth.idp.oidc.models import Client  # noqa: E402 - needs a set-up Django
from django.contrib.auth.models import User  # noqa: E402 - the same
from django.core.management import call_command  # noqa: E402 - the same
from django.core.wsgi import get_wsgi_application  # noqa: E402 - the same

from tests.chatapp.accounts.provider import CLIENT, MORE, ODD, PEOPLE, SECRET  # noqa: E402 - the same


class Server(ThreadingMixIn, WSGIServer):
    """Answers several requests at once."""


class Quiet(WSGIRequestHandler):
    """Logs nothing."""

    @override
    def log_message(self, *_said: Any) -> None:
        """Log nothing."""


call_command("migrate", verbosity=0)
for name in (*PEOPLE, *ODD, *MORE):
    User.objects.create_user(name, password=name)
client = Client(id=CLIENT, name="Palimpsest", skip_consent=True, redirect_uris=sys.argv[1])
client.scopes = "openid\nprofile\nemail"
client.set_secret(SECRET)
client.save()
with make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet) as server:
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
