"""The browser that the system has, without its own downloads and reports."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
]


def found() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


@contextmanager
def opened() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found(), args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()
