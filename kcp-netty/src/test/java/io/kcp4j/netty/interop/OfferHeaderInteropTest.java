package io.kcp4j.netty.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * An unmodified kcp-go ignores sequence number, timestamp and payload of a WINS, whatever they are:
 * protocol.md 13.8.2.
 */
class OfferHeaderInteropTest {

  private static final int CONV = 7;
  private static final int OFFER_BYTES = 22;
  private static final List<Integer> INCARNATIONS = List.of(0x4444_44cc, 1, -1, 0x8000_0000);
  private static final int TIMESTAMP = 0x0000_0302;

  private static final SessionSettings SETTINGS =
      SessionSettings.DEFAULT.with(CipherAlgorithm.NULL).with(FecConfig.NONE, FecConfig.NONE);

  /** A PUSH of one byte, and a WINS behind it as an offer of lanes has it. */
  private static ByteBuf withOffer(ByteBuf segments, int incarnation, int una) {
    Segment.write(segments, CONV, Segment.WINS, 0, 128, TIMESTAMP, incarnation, una, OFFER_BYTES);
    return segments.writeZero(OFFER_BYTES);
  }

  private static void push(ByteBuf out, int sn, int una, int value) {
    Segment.write(out, CONV, Segment.PUSH, 0, 128, 1000 + sn, sn, una, 1);
    out.writeByte(value);
  }

  private static void send(DatagramSocket socket, ByteBuf datagram, SocketAddress to)
      throws IOException {
    byte[] bytes = ByteBufUtil.getBytes(datagram);
    socket.send(new DatagramPacket(bytes, bytes.length, to));
  }

  private static DatagramPacket receive(DatagramSocket socket) throws IOException {
    DatagramPacket packet = new DatagramPacket(new byte[2048], 2048);
    socket.receive(packet);
    return packet;
  }

  private static ByteBuf content(DatagramPacket packet) {
    return Unpooled.wrappedBuffer(packet.getData(), 0, packet.getLength());
  }

  /** The index of the segment with this command and sequence number, or -1. */
  private static int find(ByteBuf datagram, int cmd, int sn) {
    for (int i = 0; i < datagram.writerIndex(); ) {
      if (Segment.cmd(datagram, i) == cmd && Segment.sn(datagram, i) == sn) {
        return i;
      }
      i += Segment.HEADER_BYTES + Segment.length(datagram, i);
    }
    return -1;
  }

  @ParameterizedTest
  @ValueSource(strings = {"echo-server", "message-server"})
  void serverOfKcpGoEchoesWhatPrecedesIt(String command) throws Exception {
    List<String> flags =
        command.equals("echo-server")
            ? SETTINGS.goFlags()
            : SessionSettings.messages(256, 1400).goFlags();
    try (GoPeer server = GoPeer.server(command, flags);
        DatagramSocket socket = new DatagramSocket()) {
      socket.setSoTimeout(10_000);
      for (int sn = 0; sn < INCARNATIONS.size(); sn++) {
        ByteBuf datagram = Unpooled.buffer();
        push(datagram, sn, sn, 'a' + sn);
        send(socket, withOffer(datagram, INCARNATIONS.get(sn), sn), server.address());
        boolean isAcknowledged = false;
        int echo = -1;
        while (!isAcknowledged || echo < 0) {
          ByteBuf answer = content(receive(socket));
          isAcknowledged |= find(answer, Segment.ACK, sn) >= 0;
          int found = find(answer, Segment.PUSH, sn);
          echo = found < 0 ? echo : answer.getByte(found + Segment.HEADER_BYTES);
        }
        assertEquals('a' + sn, echo);
      }
    }
  }

  @Test
  void clientOfKcpGoTakesWhatPrecedesIt() throws Exception {
    try (DatagramSocket socket = new DatagramSocket(new InetSocketAddress(NetUtil.LOCALHOST4, 0))) {
      socket.setSoTimeout(10_000);
      InetSocketAddress address = (InetSocketAddress) socket.getLocalSocketAddress();
      try (GoPeer client =
          GoPeer.client("echo-client", address, 20, SETTINGS.goFlags("--bytes=1"))) {
        DatagramPacket first = receive(socket);
        ByteBuf request = content(first);
        assertTrue(find(request, Segment.PUSH, 0) == 0);
        int conv = Segment.conv(request, 0);
        byte value = request.getByte(Segment.HEADER_BYTES);
        ByteBuf answer = Unpooled.buffer();
        Segment.write(answer, conv, Segment.ACK, 0, 128, Segment.ts(request, 0), 0, 1, 0);
        Segment.write(answer, conv, Segment.PUSH, 0, 128, 1, 0, 1, 1);
        answer.writeByte(value);
        int wins = answer.writerIndex();
        withOffer(answer, INCARNATIONS.get(0), 1).setIntLE(wins, conv);
        send(socket, answer, first.getSocketAddress());
        client.assertSucceeds();
        assertEquals(0, client.count("kcp_errors"));
      }
    }
  }
}
