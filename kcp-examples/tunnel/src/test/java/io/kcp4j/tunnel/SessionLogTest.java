package io.kcp4j.tunnel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.KcpChannelEvent;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.Test;

class SessionLogTest {

  private final StringWriter log = new StringWriter();

  private EmbeddedChannel session(boolean isClient) throws Exception {
    TunnelLog lines = TunnelLog.open("", new PrintWriter(log), false);
    return new EmbeddedChannel(new SessionLog(lines, isClient));
  }

  @Test
  void peerThatHasNotAnsweredIsNotLogged() throws Exception {
    EmbeddedChannel session = session(false);
    session.pipeline().fireExceptionCaught(new IOException("a test"));
    assertFalse(session.isOpen());
    assertEquals("", log.toString());
  }

  @Test
  void beginningFailureAndEndOfAServersSessionAreLogged() throws Exception {
    EmbeddedChannel session = session(false);
    session.pipeline().fireUserEventTriggered(KcpChannelEvent.ESTABLISHED);
    session.pipeline().fireExceptionCaught(new IOException("a test"));
    assertFalse(session.isOpen());
    assertTrue(
        log.toString()
            .matches("(?s).* session: .*\\R.* session failed: .*a test\\R.* session ended: .*\\R"),
        log.toString());
  }

  @Test
  void aFloodOfSessionsIsAFewLinesOfAQuietLog() throws Exception {
    TunnelLog lines = new TunnelLog(new PrintWriter(log), true, () -> 0);
    for (int i = 0; i < 100; i++) {
      EmbeddedChannel session = new EmbeddedChannel(new SessionLog(lines, false));
      session.pipeline().fireUserEventTriggered(KcpChannelEvent.ESTABLISHED);
      session.pipeline().fireExceptionCaught(new IOException("a test"));
    }
    assertEquals(3, log.toString().lines().count(), log.toString());
  }

  @Test
  void failureAndEndOfAClientsSessionAreLogged() throws Exception {
    session(true).pipeline().fireExceptionCaught(new IOException("a test"));
    assertTrue(
        log.toString().matches("(?s).* session failed: .*\\R.* session ended: .*\\R"),
        log.toString());
  }
}
