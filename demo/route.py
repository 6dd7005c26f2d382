"""The route of an array: from its producer, directly or through cuarray, to its consumer."""

from dataclasses import dataclass

from library import Library


@dataclass(frozen=True)
class Route:
    producer: Library
    consumer: Library
    through: Library | None = None

    @property
    def libraries(self):
        return [library for library in (self.producer, self.through, self.consumer) if library is not None]

    @property
    def lacks_streams(self):
        """Why the route exchanges no pending work; empty if it does."""
        return next((library.lacks_streams for library in self.libraries if library.lacks_streams), "")

    @property
    def name(self):
        return " → ".join(library.name for library in self.libraries)

    def __str__(self):
        return self.name

    def take(self, made, stream=None, ordered=True, through_ordered=True):
        """Import `made` into the consumer; only the result keeps the arrays in between alive."""
        offered = made.offer()
        if self.through is not None:
            offered = self.through.take(offered, ordered=through_ordered).offer()
        return self.consumer.take(offered, stream, ordered)


def routes(cuarray, peers):
    """Return the routes: cuarray with itself, each peer with cuarray in both directions, and each pair of peers through cuarray."""
    found = [Route(cuarray, cuarray)]
    for peer in peers:
        found += [Route(peer, cuarray), Route(cuarray, peer)]
    found += [Route(first, second, through=cuarray) for first in peers for second in peers if first is not second]
    return found
