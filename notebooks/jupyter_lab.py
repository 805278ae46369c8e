# SPDX-License-Identifier: BSD-3-Clause
"""jupyter_lab.py: notebooks run in a real JupyterLab, shown in a browser.

The server listens to this machine only, keeps its files in a folder of its own, and
fetches nothing.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import nbformat
from selenium import webdriver
from selenium.webdriver.support.wait import WebDriverWait

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
START_S, RUN_S = 60, 60
# Cells that show a result each, of the files that `take_files` brings.
RESULTS = {
    "report": """import torchtraceap

slow = torchtraceap.analyze("no-workers.json.gz")
slow""",
    "job": 'torchtraceap.analyze("job")',
    "comparison": 'torchtraceap.compare(slow, "four-workers.json.gz")',
}
# They ask for news and for builds.
OFF = (
    "@jupyterlab/apputils-extension:announcements",
    "@jupyterlab/extensionmanager-extension",
)


class Lab:
    """A running server, the only one that knows its token."""

    def __init__(self, folder: Path, token: str) -> None:
        self.folder, self.token, self.url = folder, token, ""

    def take_files(self, job: Path) -> None:
        """Put the traces of `RESULTS` beside the notebooks; ``job`` is a folder."""
        for name, part in (("no-workers", "0-memory"), ("four-workers", "4")):
            trace = DATA / f"kineto2021-v100-resnet50-workers{part}.json.gz"
            shutil.copy(trace, self.folder / f"{name}.json.gz")
        shutil.copytree(job, self.folder / "job")

    def run(self, driver: webdriver.Chrome, name: str, cells: Iterable[str]) -> Path:
        """Run a new notebook in a live kernel; return its file, saved with outputs.

        Each cell shows something. Raises TimeoutException after a minute.
        """
        path = self.folder / f"{name}.ipynb"
        code = [nbformat.v4.new_code_cell(cell) for cell in cells]
        # Without it, JupyterLab asks for one.
        kernel = {"name": "python3", "display_name": "Python 3"}
        notebook = nbformat.v4.new_notebook(cells=code, metadata={"kernelspec": kernel})
        nbformat.write(notebook, path)
        driver.set_script_timeout(RUN_S)
        driver.get(f"{self.url}/lab/tree/{path.name}?token={self.token}&reset")
        wait = WebDriverWait(driver, RUN_S)
        wait.until(
            lambda _: driver.execute_script(
                "const p = window.jupyterapp?.shell.currentWidget;"
                "return p?.context?.isReady && p.sessionContext.isReady &&"
                "  p.sessionContext.session?.kernel?.status == 'idle'"
            )
        )
        self.command(driver, "application:toggle-left-area")
        self.command(driver, "notebook:run-all-cells")
        shown = "return document.querySelectorAll('.jp-OutputArea-output').length"
        wait.until(lambda _: driver.execute_script(shown) >= len(code))
        self.command(driver, "docmanager:save")
        return path

    def command(self, driver: webdriver.Chrome, name: str, **options: object) -> None:
        """Run a command of JupyterLab and wait for its end."""
        driver.execute_async_script(
            "const [name, options, done] = arguments;"
            "jupyterapp.commands.execute(name, options).then(() => done())",
            name,
            options,
        )

    def theme(self, driver: webdriver.Chrome, theme: str) -> None:
        """Change to "light" or "dark", and wait for it."""
        self.command(driver, "apputils:change-theme", theme=THEMES[theme])
        marked = f"[data-jp-theme-light={json.dumps(str(theme == 'light').lower())}]"
        WebDriverWait(driver, 10).until(
            lambda _: driver.find_elements("css selector", f"body{marked}")
        )


@contextmanager
def jupyter_lab(folder: Path) -> Iterator[Lab]:
    """Yield a server whose files are in a folder; end it and its kernels."""
    places = {kind: folder / kind.lower() for kind in ("CONFIG", "DATA", "RUNTIME")}
    pages = places["CONFIG"] / "labconfig"
    pages.mkdir(parents=True)
    disabled = {"disabledExtensions": dict.fromkeys(OFF, True)}
    (pages / "page_config.json").write_text(json.dumps(disabled), "utf-8")
    # All cells are in the page, not only those in view.
    tracker = folder / "settings/@jupyterlab/notebook-extension"
    tracker.mkdir(parents=True)
    settings = json.dumps({"windowingMode": "none"})
    (tracker / "tracker.jupyterlab-settings").write_text(settings, "utf-8")
    root = folder / "root"
    root.mkdir()
    lab = Lab(root, secrets.token_hex(16))
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": 0,  # Any that is free.
        "ServerApp.root_dir": root,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "LabApp.expose_app_in_browser": True,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
        "LabApp.news_url": None,
        "LabApp.workspaces_dir": folder / "workspaces",
        "LabApp.user_settings_dir": folder / "settings",
    }
    kept = {f"JUPYTER_{kind}_DIR": str(place) for kind, place in places.items()}
    kept |= {"JUPYTER_TOKEN": lab.token, "IPYTHONDIR": str(folder / "ipython")}
    command = [sys.executable, "-m", "jupyterlab"]
    with open(folder / "server.log", "wb") as log:
        server = subprocess.Popen(
            [*command, *(f"--{name}={value}" for name, value in options.items())],
            env={**os.environ, **kept, "TORCHTRACEAP_DETECTOR": "off"},
            stdout=log,
            stderr=log,
        )
    try:
        # The server writes it when it listens.
        about = places["RUNTIME"] / f"jpserver-{server.pid}.json"
        end = monotonic() + START_S
        while not about.exists():
            if server.poll() is not None or monotonic() > end:
                said = (folder / "server.log").read_text("utf-8")
                raise RuntimeError(f"JupyterLab did not start:\n{said[-2000:]}")
            sleep(0.1)
        lab.url = json.loads(about.read_text("utf-8"))["url"].rstrip("/")
        yield lab
    finally:
        server.terminate()
        server.wait(30)
