package io.kcp4j.netty;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Somebody on the path between one client and its server, who has no key: passes datagrams on,
 * drops those that are too large, records what the client sends, and sends it again, or ahead of
 * the client from another port.
 */
public final class RecordingRelay implements AutoCloseable {

  private final DatagramSocket toClient = new DatagramSocket(Fixture.ANY_PORT);
  private final DatagramSocket toServer = new DatagramSocket(Fixture.ANY_PORT);
  private final DatagramSocket ahead = new DatagramSocket(Fixture.ANY_PORT);
  private final InetSocketAddress server;
  private final int largestBytes;

  /** The datagrams of the client that were recorded. */
  private final List<byte[]> recorded = new CopyOnWriteArrayList<>();

  private volatile boolean isRecording;
  private volatile boolean isSendingAhead;
  private volatile boolean isBeginningAhead;
  private volatile boolean isDroppingAnswers;
  private volatile boolean isRefusing;
  private volatile SocketAddress client;

  /**
   * Makes a relay to a server.
   *
   * @param largestBytes the largest payload of UDP that passes
   */
  public RecordingRelay(InetSocketAddress server, int largestBytes) throws IOException {
    this.server = server;
    this.largestBytes = largestBytes;
    toServer.connect(server);
    new Thread(this::carryToServer, "to server").start();
    new Thread(this::carryToClient, "to client").start();
  }

  /** The address that the client connects to. */
  public InetSocketAddress address() {
    return (InetSocketAddress) toClient.getLocalSocketAddress();
  }

  /** The address from which the server receives what the client sends. */
  InetSocketAddress addressAtServer() {
    return (InetSocketAddress) toServer.getLocalSocketAddress();
  }

  /** Sends each datagram of the client from another port, too, before it is forwarded. */
  public void sendAhead() {
    isSendingAhead = true;
  }

  /** The same for the next datagram only, and passes the first answer to that to the client. */
  void beginAhead() {
    isBeginningAhead = true;
  }

  private void beginAhead(byte[] first) throws IOException {
    ahead.send(new DatagramPacket(first, first.length, server));
    DatagramPacket answer = new DatagramPacket(new byte[2048], 2048);
    ahead.receive(answer);
    toClient.send(new DatagramPacket(answer.getData(), answer.getLength(), client));
  }

  /** Drops the datagrams of the server from now on, or no longer. */
  void dropAnswers(boolean isDropping) {
    isDroppingAnswers = isDropping;
  }

  /**
   * Nobody listens at the address of the relay any more: after the next datagram of the client, the
   * kernel answers the others with "port unreachable". No other socket can get the port.
   */
  void refuse() {
    isRefusing = true;
  }

  void record(boolean isRecording) {
    this.isRecording = isRecording;
  }

  List<byte[]> recorded() {
    return recorded;
  }

  /** Sends what was recorded again, from the address from which the server knows the client. */
  void replay() throws IOException {
    for (byte[] datagram : recorded) {
      toServer.send(new DatagramPacket(datagram, datagram.length));
    }
  }

  private void carryToServer() {
    carry(
        toClient,
        packet -> {
          if (isRefusing) {
            toClient.connect(address());
            return;
          }
          client = packet.getSocketAddress();
          byte[] datagram = Arrays.copyOf(packet.getData(), packet.getLength());
          if (isRecording) {
            recorded.add(datagram);
          }
          if (isBeginningAhead) {
            isBeginningAhead = false;
            beginAhead(datagram);
          }
          if (isSendingAhead) {
            ahead.send(new DatagramPacket(datagram, datagram.length, server));
          }
          toServer.send(new DatagramPacket(datagram, datagram.length));
        });
  }

  private void carryToClient() {
    carry(
        toServer,
        packet -> {
          if (!isDroppingAnswers && !isRefusing) {
            toClient.send(new DatagramPacket(packet.getData(), packet.getLength(), client));
          }
        });
  }

  private interface Carrier {
    void carry(DatagramPacket packet) throws IOException;
  }

  private void carry(DatagramSocket from, Carrier carrier) {
    while (!from.isClosed()) {
      DatagramPacket packet = new DatagramPacket(new byte[2048], 2048);
      try {
        from.receive(packet);
        if (packet.getLength() <= largestBytes) {
          carrier.carry(packet);
        }
      } catch (IOException e) {
        // It was closed, or the other side has gone.
      }
    }
  }

  @Override
  public void close() {
    toClient.close();
    ahead.close();
    toServer.close();
  }
}
