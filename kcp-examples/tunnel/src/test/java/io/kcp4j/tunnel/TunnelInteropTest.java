package io.kcp4j.tunnel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import io.kcp4j.command.HostPort;
import io.kcp4j.netty.interop.GoPeer;
import io.kcp4j.netty.interop.InteropRelay;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One end of the tunnel is kcp-go, smux and Snappy in Go, put together as in kcptun. */
@Execution(CONCURRENT)
class TunnelInteropTest {

  private static final int CONNECTIONS = 10;
  private static final int BYTES = 300_000;
  private static final int LONG_BYTES = 3_000_000;

  private static final InteropRelay.Faults FAULTS = new InteropRelay.Faults(0.05, 0.01, 0.01);

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "--nocomp --crypt=null --datashard=0 --parityshard=0",
        "--crypt=aes-128-gcm --smuxver=1 --mode=fast3",
        "--crypt=salsa20 --datashard=3 --parityshard=2 --mtu=1000 --framesize=30000",
        "--nocomp --crypt=none --streambuf=65536 --smuxbuf=262144"
      })
  void aServerInGoAnswers(String options) throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        GoPeer server = goServer(target, options + " --half-close");
        RunningTunnel client = RunningTunnel.client(HostPort.format(server.address()), options)) {
      TunnelUser.checkEchoes(client.port(), 1, LONG_BYTES);
      TunnelUser.checkEchoes(client.port(), CONNECTIONS, BYTES);
      assertEquals(0, client.stop().exitCode());
      server.finish();
      assertEquals(1 + CONNECTIONS, server.count("streams"));
    }
  }

  /** The target ends first: smux in Go may lose data when its own user does. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "--nocomp --crypt=null --datashard=0 --parityshard=0",
        "--crypt=aes-128-gcm --smuxver=1 --mode=fast3",
        "--crypt=salsa20 --datashard=3 --parityshard=2 --mtu=1000 --framesize=30000",
        "--nocomp --crypt=none --streambuf=65536 --smuxbuf=262144"
      })
  void aClientInGoIsServed(String options) throws Exception {
    try (TcpTarget target = TcpTarget.echoOf(BYTES);
        RunningTunnel server = RunningTunnel.server(target.address(), options);
        GoPeer client = goClient(server.address(), options)) {
      int port = client.address().getPort();
      TunnelUser.checkEchoesUntilTheTargetEnds(port, CONNECTIONS, BYTES);
      server.awaitLog("closed: ", CONNECTIONS);
      client.finish();
      assertEquals(CONNECTIONS, client.count("streams"));
    }
  }

  @Test
  void aServerInGoAnswersThroughABadNetwork() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        GoPeer server = goServer(target, "--half-close --mode=fast3");
        InteropRelay relay = new InteropRelay(server.address(), FAULTS, 1);
        RunningTunnel client =
            RunningTunnel.client(HostPort.format(relay.address()), "--mode=fast3")) {
      TunnelUser.checkEchoes(client.port(), CONNECTIONS, BYTES);
    }
  }

  @Test
  void aClientInGoIsServedThroughABadNetwork() throws Exception {
    try (TcpTarget target = TcpTarget.echoOf(BYTES);
        RunningTunnel server = RunningTunnel.server(target.address(), "--mode=fast3");
        InteropRelay relay =
            new InteropRelay(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), server.port()), FAULTS, 2);
        GoPeer client = goClient(HostPort.format(relay.address()), "--mode=fast3")) {
      int port = client.address().getPort();
      TunnelUser.checkEchoesUntilTheTargetEnds(port, CONNECTIONS, BYTES);
    }
  }

  /** kcptun closes both directions when one has ended. */
  @Test
  void aServerLikeKcptunEndsTheConnection() throws Exception {
    try (TcpTarget target = TcpTarget.echoOf(BYTES);
        GoPeer server = goServer(target, "--closewait=0");
        RunningTunnel client = RunningTunnel.client(HostPort.format(server.address()), "")) {
      TunnelUser.checkEchoesUntilTheTargetEnds(client.port(), CONNECTIONS, BYTES);
    }
  }

  @Test
  void theUserSendsAfterTheTargetHasEndedBehindAClientInGo() throws Exception {
    byte[] data = TunnelUser.data(7, BYTES);
    try (TcpTarget target =
            new TcpTarget(
                connection -> {
                  connection.shutdownOutput();
                  byte[] received = connection.getInputStream().readAllBytes();
                  assertTrue(Arrays.equals(data, received));
                });
        RunningTunnel server = RunningTunnel.server(target.address(), "");
        GoPeer client = goClient(server.address(), "--half-close");
        Socket socket = TunnelUser.connect(client.address().getPort())) {
      assertEquals(-1, socket.getInputStream().read());
      socket.getOutputStream().write(data);
      socket.shutdownOutput();
      server.awaitLog("closed: ", 1);
      server.stop();
      assertTrue(server.log().contains(BYTES + " to TCP"), server.log());
    }
  }

  @Test
  void anotherKeyIsReported() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), "--snmpperiod=1");
        GoPeer client = goClient(server.address(), "--key=another");
        Socket socket = TunnelUser.connect(client.address().getPort())) {
      socket.getOutputStream().write(1);
      server.awaitLog("packets that no key decrypts", 1);
    }
  }

  private static GoPeer goServer(TcpTarget target, String options) {
    return GoPeer.server(
        "tunnel-server",
        flags("--listen=127.0.0.1:0 --target=" + target.address() + " " + options));
  }

  private static GoPeer goClient(String remote, String options) {
    return GoPeer.server(
        "tunnel-client", flags("--localaddr=127.0.0.1:0 --remoteaddr=" + remote + " " + options));
  }

  /** Of several flags with the same name, the last one counts. */
  private static List<String> flags(String options) {
    String key = "--key=" + RunningTunnel.KEY;
    return Stream.concat(Stream.of(key), Stream.of(options.strip().split(" +"))).toList();
  }
}
