package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.netty.RecordingRelay;
import java.util.List;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An unmodified client of kcp-go answers the challenge that it is sent when somebody on the path
 * has sent its first packet ahead of it: protocol.md 8.10.
 */
@Execution(CONCURRENT)
class ReplayInteropTest {

  private static final int TIMEOUT_SECONDS = 60;
  private static final int MAX_DATAGRAM_BYTES = 2048;

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void kcpGoGetsInThoughItsPacketsAreSentAhead(boolean hasFec) throws Exception {
    FecConfig fec = hasFec ? FecConfig.of(10, 3) : FecConfig.NONE;
    SessionSettings settings =
        SessionSettings.DEFAULT.with(CipherAlgorithm.AES_128_GCM).with(fec, fec);
    try (Kcp4jServer server = Kcp4jServer.start(PeerTransport.NIO, settings);
        RecordingRelay relay = new RecordingRelay(server.address(), MAX_DATAGRAM_BYTES)) {
      relay.sendAhead();
      List<String> flags = settings.goFlags("--bytes=" + 100_000);
      try (GoPeer client = GoPeer.client("echo-client", relay.address(), TIMEOUT_SECONDS, flags)) {
        client.assertSucceeds();
      }
      assertTrue(server.count(KcpCounter.ADDRESS_CHALLENGES_OUT) > 0);
    }
  }
}
