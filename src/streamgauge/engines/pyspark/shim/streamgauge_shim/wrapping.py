"""Wraps methods of readers and writers, and the options that both have."""

from __future__ import annotations

import inspect

from streamgauge_shim import SHIM


def settings_of(self):
    """The options of a reader or writer as the script gave them, by lower-case name."""
    return self.__dict__.setdefault("_streamgauge", {})


def session_setting(self, key, default):
    """A setting of the session that a writer belongs to."""
    session = getattr(self, "_spark", None)
    return default if session is None else session.conf.get(key, default)


def wrap(cls, name):
    """Replaces a method by a function that gets the original first; methods that a version lacks are left out."""

    def replace(function):
        original = getattr(cls, name, None)
        if original is not None:

            def wrapped(self, *args, **kwargs):
                return function(original, self, *args, **kwargs)

            wrapped.__name__, wrapped.__doc__ = name, getattr(original, "__doc__", None)
            setattr(cls, name, wrapped)
        return function

    return replace


def bind(original, *args, **kwargs):
    """The arguments of a call by name: their places differ between versions, and between classic and Connect."""
    return inspect.signature(original).bind(*args, **kwargs)


def with_options(cls, rewrite):
    """Lets every option of a reader or writer pass once through ``rewrite(settings, key, value)``.

    That returns the option to set instead, its key and value.
    """

    @wrap(cls, "format")
    def format_(original, self, source):
        settings_of(self)["format"] = str(source).lower()
        return original(self, source)

    @wrap(cls, "option")
    def option(original, self, key, value):
        changed = rewrite(settings_of(self), str(key).lower(), value)
        return original(self, *changed) if isinstance(changed, tuple) else original(self, key, changed)

    @wrap(cls, "options")
    def options(original, self, **given):
        # Not the original: in Connect it calls option() itself.
        for key, value in given.items():
            self.option(key, value)
        return self


def kafka_option(settings, key, value):
    """Addresses and security of a reader or a writer."""
    if key == "kafka.bootstrap.servers":
        settings.setdefault("bootstrap", str(value))
        SHIM.redirected("broker", str(value), SHIM.config["bootstrap"])
        return SHIM.config["bootstrap"]
    if key == "kafka.security.protocol":
        return SHIM.config["kafka"].get("security.protocol", "PLAINTEXT")
    if key.startswith("kafka.") and key[len("kafka.") :] in SHIM.config["kafka"]:
        return SHIM.config["kafka"][key[len("kafka.") :]]
    return value


def give_security(original_option, self):
    """What the broker of the run needs, if anything."""
    for key, value in SHIM.config["kafka"].items():
        original_option(self, "kafka." + key, value)
