package io.kcp4j.netty.interop;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Many sessions on one server. */
class ManySessionsInteropTest {

  private static final int TIMEOUT_SECONDS = 60;

  @ParameterizedTest
  @EnumSource
  void twoHundredGoClientsAreServedAtOnce(PeerTransport transport) throws Exception {
    SessionSettings settings = SessionSettings.DEFAULT;
    List<String> flags = settings.goFlags("--sessions=200", "--bytes=100000");
    try (Kcp4jServer server = Kcp4jServer.start(transport, settings);
        GoPeer clients = GoPeer.client("echo-client", server.address(), TIMEOUT_SECONDS, flags)) {
      clients.assertSucceeds();
    }
  }

  @Test
  @EnabledOnOs(value = OS.LINUX, disabledReason = "needs the addresses of 127.0.0.0/8")
  void sessionsOfAThousandAddressesEchoAgainAfterAPause() throws Exception {
    List<String> flags = List.of("--sessions=1000", "--hold=0.5");
    try (Kcp4jServer server = Kcp4jServer.start(PeerTransport.NIO, SessionSettings.DEFAULT);
        GoPeer load =
            GoPeer.client(GoProgram.BENCH, "load", server.address(), TIMEOUT_SECONDS, flags)) {
      load.assertSucceeds();
    }
  }
}
