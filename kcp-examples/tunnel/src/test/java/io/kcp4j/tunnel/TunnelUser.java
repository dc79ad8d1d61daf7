package io.kcp4j.tunnel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/** Uses a tunnel over TCP. */
final class TunnelUser {

  private static final int TIMEOUT_MS = 60_000;

  private TunnelUser() {}

  /** A connection to an end of the tunnel on this machine. */
  static Socket connect(int port) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(TIMEOUT_MS);
    return socket;
  }

  /**
   * Sends bytes over several connections at once, and ends them. Checks that everything is echoed,
   * and then ends, too.
   */
  static void checkEchoes(int port, int connections, int bytes) throws Exception {
    checkEchoes(port, connections, bytes, true);
  }

  /** The same, except that only the target ends the connections. */
  static void checkEchoesUntilTheTargetEnds(int port, int connections, int bytes) throws Exception {
    checkEchoes(port, connections, bytes, false);
  }

  private static void checkEchoes(int port, int connections, int bytes, boolean isEnding)
      throws Exception {
    List<CompletableFuture<Void>> echoes = new ArrayList<>();
    for (int i = 0; i < connections; i++) {
      byte[] data = data(i, bytes);
      echoes.add(
          CompletableFuture.runAsync(() -> checkEcho(port, data, isEnding), TunnelUser::start));
    }
    for (CompletableFuture<Void> echo : echoes) {
      echo.get();
    }
  }

  private static void start(Runnable task) {
    Thread thread = new Thread(task, "tunnel-user");
    thread.setDaemon(true);
    thread.start();
  }

  private static void checkEcho(int port, byte[] data, boolean isEnding) {
    try (Socket socket = connect(port)) {
      CompletableFuture<Void> sent =
          CompletableFuture.runAsync(() -> send(socket, data, isEnding), TunnelUser::start);
      assertArrayEquals(data, socket.getInputStream().readNBytes(data.length));
      assertEquals(-1, socket.getInputStream().read());
      sent.join();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Random bytes and zeros in turn: some of it can be compressed. */
  static byte[] data(int seed, int length) {
    byte[] data = new byte[length];
    SplittableRandom random = new SplittableRandom(seed);
    for (int at = 0; at < length; at += 1000) {
      byte[] part = new byte[Math.min(500, length - at)];
      random.nextBytes(part);
      System.arraycopy(part, 0, data, at, part.length);
    }
    return data;
  }

  private static void send(Socket socket, byte[] data, boolean isEnding) {
    try {
      socket.getOutputStream().write(data);
      if (isEnding) {
        socket.shutdownOutput();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
