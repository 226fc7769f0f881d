"""Files sent to be imported, as the page of imports sends them."""

import asyncio
import json
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from chatapp.operations import background_jobs


def send(browser: Client, *files: tuple[str, Any]) -> Any:
    """Send files, wait for the import's end, and return the answer."""
    sent = [
        SimpleUploadedFile(name, data if isinstance(data, bytes) else json.dumps(data).encode())
        for name, data in files
    ]
    answer = browser.post(reverse("import"), {"files": sent}, follow=False)
    wait_for_imports()
    return answer


def wait_for_imports() -> None:
    """Wait for the end of all background jobs."""
    asyncio.run(background_jobs.close())
