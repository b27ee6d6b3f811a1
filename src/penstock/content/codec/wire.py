"""The names of the stream profile, for modules that do not yet import them from ``stream``."""

from penstock.content.codec.size import SizeMeter, encoded_size
from penstock.content.codec.stream import Decoder, encode

__all__ = ["Decoder", "SizeMeter", "encode", "encoded_size"]
