from __future__ import annotations


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the golden messages anew")
