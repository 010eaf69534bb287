"""Looks at machines and runtimes; knows no question, no document and no screen."""
