"""Phase (angular) synchronization with a proof of optimality on every answer."""
