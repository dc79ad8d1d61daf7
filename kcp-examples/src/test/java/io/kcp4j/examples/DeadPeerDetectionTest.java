package io.kcp4j.examples;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.ConnectivityState;
import io.grpc.Status;
import io.kcp4j.EndReason;
import io.kcp4j.netty.KcpChannel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.NetUtil;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Peers whose processes are killed, with the settings of {@link DeadPeerDetection}. They are
 * noticed within 5 s, as {@code KeepAliveTest} shows in virtual time. With the defaults it would
 * take 90 s.
 */
@Tag("slow")
class DeadPeerDetectionTest {

  static final InetSocketAddress ANY_PORT = new InetSocketAddress(NetUtil.LOCALHOST4, 0);

  /** 5 s, and as long again for machines that are slow. */
  private static final Duration LIMIT = Duration.ofSeconds(10);

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

  private Process peer;

  @AfterEach
  void end() {
    if (peer != null) {
      peer.destroyForcibly();
    }
    group.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
  }

  /** Starts a peer, and returns the line that it prints when it is ready. */
  private String start(Class<?> main, Object... args) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    String classPath = System.getProperty("java.class.path");
    List<String> command =
        Stream.concat(
                Stream.of(java, "-XX:TieredStopAtLevel=1", "-cp", classPath, main.getName()),
                Stream.of(args).map(Object::toString))
            .toList();
    peer = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    BufferedReader out = peer.inputReader();
    for (String line; (line = out.readLine()) != null; ) {
      if (line.matches("\\d+ \\d+|connected")) {
        return line;
      }
    }
    throw new AssertionError(main + " ended");
  }

  @Test
  void clientsNoticeThatTheirServerWasKilled() throws Exception {
    String[] ports = start(MortalServers.class).split(" ", -1);
    MortalClients clients =
        new MortalClients(group, Integer.parseInt(ports[0]), Integer.parseInt(ports[1]));
    assertEquals(ConnectivityState.READY, clients.idle.getState(false));

    peer.destroyForcibly().waitFor();

    await().atMost(LIMIT).until(clients.player.closeFuture()::isDone);
    EndReason reason = clients.player.endReason(); // The system may report the closed port first.
    assertTrue(
        reason == EndReason.KEEP_ALIVE_TIMEOUT || reason == EndReason.PORT_UNREACHABLE,
        () -> "reason: " + reason);
    await().atMost(LIMIT).until(clients.openCall::isDone);
    Throwable cause =
        assertThrows(ExecutionException.class, () -> clients.openCall.get()).getCause();
    assertEquals(Status.Code.UNAVAILABLE, Status.fromThrowable(cause).getCode());
    await().atMost(LIMIT).until(() -> clients.idle.getState(false) != ConnectivityState.READY);
    clients.idle.shutdownNow();
    clients.calling.shutdownNow();
  }

  @Test
  void serversNoticeThatTheirClientsWereKilled() throws Exception {
    MortalServers servers = new MortalServers(group);
    InetSocketAddress game = (InetSocketAddress) servers.game.localAddress();
    start(MortalClients.class, servers.grpc.getPort(), game.getPort());
    await().until(() -> servers.openCalls.get() == 1);
    KcpChannel player = servers.players.element();

    peer.destroyForcibly().waitFor();

    await().atMost(LIMIT).until(player.closeFuture()::isDone);
    assertEquals(EndReason.KEEP_ALIVE_TIMEOUT, player.endReason());
    await().atMost(LIMIT).until(() -> servers.cancelledCalls.get() == 1);
    await().atMost(LIMIT).until(() -> servers.endedTransports.get() == 2);
    servers.grpc.shutdownNow();
    servers.game.close();
  }
}
