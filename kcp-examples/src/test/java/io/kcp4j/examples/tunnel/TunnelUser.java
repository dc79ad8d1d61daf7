package io.kcp4j.examples.tunnel;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.OutputStream;
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

  /** Sends bytes over several connections at once, and checks that they are echoed, and the end. */
  static void checkEchoes(int port, int connections, int bytes) throws Exception {
    List<CompletableFuture<Void>> echoes = new ArrayList<>();
    for (int i = 0; i < connections; i++) {
      int seed = i;
      echoes.add(CompletableFuture.runAsync(() -> checkEcho(port, seed, bytes), TunnelUser::start));
    }
    for (CompletableFuture<Void> echo : echoes) {
      echo.get();
    }
  }

  static void start(Runnable task) {
    Thread thread = new Thread(task, "tunnel-user");
    thread.setDaemon(true);
    thread.start();
  }

  private static void checkEcho(int port, int seed, int length) {
    byte[] data = data(seed, length);
    try (Socket socket = connect(port)) {
      CompletableFuture<Void> sent =
          CompletableFuture.runAsync(() -> send(socket, data), TunnelUser::start);
      byte[] echo = socket.getInputStream().readNBytes(length);
      assertArrayEquals(data, echo, "connection " + seed);
      assertEquals(-1, socket.getInputStream().read(), "connection " + seed);
      sent.join();
    } catch (IOException e) {
      throw new AssertionError("connection " + seed, e);
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

  private static void send(Socket socket, byte[] data) {
    try {
      OutputStream out = socket.getOutputStream();
      out.write(data);
      socket.shutdownOutput();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }
}
