package io.kcp4j.tunnel;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A TCP server on loopback: what the tunnel leads to. */
final class TcpTarget implements AutoCloseable {

  /** Serves a connection, which is closed afterwards, or after an exception. */
  @FunctionalInterface
  interface Service {
    void serve(Socket connection) throws Exception;
  }

  private static final int BACKLOG = 200;

  private final ServerSocket server;
  private final Service service;
  private final Set<Socket> connections = ConcurrentHashMap.newKeySet();

  TcpTarget(Service service) throws IOException {
    this.service = service;
    server = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  /** A target that sends everything back, and ends when its peer does. */
  static TcpTarget echo() throws IOException {
    return new TcpTarget(
        connection -> {
          connection.getInputStream().transferTo(connection.getOutputStream());
          connection.shutdownOutput();
        });
  }

  /** A target that sends so many bytes back, and then ends. */
  static TcpTarget echoOf(int bytes) throws IOException {
    return new TcpTarget(
        connection -> {
          byte[] chunk = new byte[10_000];
          for (int left = bytes; left > 0; ) {
            int read = connection.getInputStream().read(chunk, 0, Math.min(left, chunk.length));
            if (read < 0) {
              return;
            }
            connection.getOutputStream().write(chunk, 0, read);
            left -= read;
          }
        });
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task, "tcp-target");
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    try {
      while (true) {
        Socket connection = server.accept();
        connections.add(connection);
        start(() -> serve(connection));
      }
    } catch (IOException e) {
      // Closed.
    }
  }

  private void serve(Socket connection) {
    try (connection) {
      service.serve(connection);
    } catch (Exception e) {
      // The other side of the connection notices that it ends.
    } finally {
      connections.remove(connection);
    }
  }

  String address() {
    return "127.0.0.1:" + server.getLocalPort();
  }

  /** How many connections are open. */
  int open() {
    return connections.size();
  }

  @Override
  public void close() {
    try {
      server.close();
      for (Socket connection : connections) {
        connection.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
