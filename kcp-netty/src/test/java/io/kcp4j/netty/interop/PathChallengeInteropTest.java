package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import org.junit.jupiter.api.Test;

/** An unmodified kcp-go answers path challenges: protocol.md 8.7. */
class PathChallengeInteropTest {

  private static final int CONV = 7;
  private static final int TS = 0x1234_5678;
  private static final byte[] PAYLOAD = {1};

  @Test
  void kcpGoAcknowledgesAnEmptyPushBelowUna() throws Exception {
    SessionSettings settings =
        SessionSettings.DEFAULT.with(CipherAlgorithm.NULL).with(FecConfig.NONE, FecConfig.NONE);
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags());
        DatagramSocket socket = new DatagramSocket()) {
      socket.setSoTimeout(10_000);
      socket.connect(server.address());
      send(socket, 0, 1, PAYLOAD);
      send(socket, -1, TS, new byte[0]);
      awaitAck(socket, -1, TS);

      send(socket, 1, 2, PAYLOAD);
      awaitAck(socket, 1, 2);
      send(socket, 1, TS, new byte[0]);
      awaitAck(socket, 1, TS);
      server.finish();
      assertEquals(0, server.count("kcp_errors"));
    }
  }

  private static void send(DatagramSocket socket, int sn, int ts, byte[] payload)
      throws IOException {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, CONV, Segment.PUSH, 0, 128, ts, sn, 0, payload.length);
    byte[] datagram = ByteBufUtil.getBytes(out.writeBytes(payload));
    socket.send(new DatagramPacket(datagram, datagram.length));
  }

  /** Waits for an ACK; the peer also echoes the payload, again and again. */
  private static void awaitAck(DatagramSocket socket, int sn, int ts) throws IOException {
    for (boolean isFound = false; !isFound; ) {
      DatagramPacket packet = new DatagramPacket(new byte[2048], 2048);
      socket.receive(packet);
      isFound = hasAck(Unpooled.wrappedBuffer(packet.getData(), 0, packet.getLength()), sn, ts);
    }
  }

  private static boolean hasAck(ByteBuf datagram, int sn, int ts) {
    for (int i = 0; i < datagram.writerIndex(); ) {
      if (Segment.cmd(datagram, i) == Segment.ACK
          && Segment.sn(datagram, i) == sn
          && Segment.ts(datagram, i) == ts) {
        return true;
      }
      i += Segment.HEADER_BYTES + Segment.length(datagram, i);
    }
    return false;
  }
}
