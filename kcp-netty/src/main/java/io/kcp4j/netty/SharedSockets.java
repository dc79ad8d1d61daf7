package io.kcp4j.netty;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The open {@link SharedSocket}s of an event loop. */
final class SharedSockets {

  private final Map<SharedSocket.Settings, List<SharedSocket>> sockets = new HashMap<>();

  /**
   * Adds a client to a socket that has had no session with {@code remote}, and opens one if there
   * is none.
   *
   * @param local the address to bind to, or null for any
   * @throws RuntimeException or Error, if no socket or no cipher can be made
   */
  SharedSocket join(KcpChannel client, InetSocketAddress remote, SocketAddress local) {
    SharedSocket.Settings settings = SharedSocket.Settings.of(client.config());
    List<SharedSocket> candidates = sockets.getOrDefault(settings, List.of());
    for (SharedSocket socket : candidates) {
      if (socket.add(remote, local)) {
        socket.endpoint().join(client);
        return socket;
      }
    }
    SharedSocket socket = new SharedSocket(this, settings, local, client);
    sockets.computeIfAbsent(settings, first -> new ArrayList<>()).add(socket);
    socket.add(remote, local);
    socket.open(client);
    return socket;
  }

  /** No client can join a socket any more. */
  void remove(SharedSocket socket) {
    List<SharedSocket> equal = sockets.get(socket.settings());
    if (equal != null && equal.remove(socket) && equal.isEmpty()) {
      sockets.remove(socket.settings());
    }
  }
}
