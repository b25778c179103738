"""Paths, files and checks of arguments: what every part of the package may use."""
