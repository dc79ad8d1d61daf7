package io.kcp4j.internal.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.admission.FirstPacket;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.path.AddressRateLimiter;
import io.kcp4j.internal.scheduling.RateLimiter;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Decrypts packets in place, and limits the CPU time that goes into packets that no key opens. When
 * a network, or all of them together, have sent too many of these, their packets are not decrypted
 * any more. Those from the addresses of validated sessions, which may be forged as well, have a
 * limit of their own, as large as that of all. So a flood drowns no session, and new clients, which
 * send again and again, still get some of their packets through.
 */
final class PacketDecrypter {

  /** The default of {@link #failuresPerSecond}. */
  static final int DEFAULT_FAILURES_PER_SECOND = 200_000;

  /** The limit of each network is this part of that of all. */
  private static final int NETWORK_SHARE = 16;

  private static final int NETWORK_BUCKETS = 4096;

  /** The size of a bucket is what it gets in this part of a second. */
  private static final int BURST_SHARE = 10;

  /**
   * The least that a packet with any effect has after decryption: the headers of an unreliable
   * datagram, or parity up to the conv. Plain segments are longer.
   */
  private static final int MIN_PACKET_BYTES = FecPacket.DATA_HEADER_BYTES + Integer.BYTES;

  /** Takes in packets that were decrypted. */
  @FunctionalInterface
  interface Receiver {

    /**
     * Takes in a packet.
     *
     * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
     * @param key that has opened it; null if packets are not encrypted
     */
    void receive(
        InetSocketAddress remote, ByteBuf packet, int nonceBytes, PacketKey key, long nowUs);
  }

  private final SessionTable.Handler handler;
  private final Receiver receiver;
  private final KcpCounters counters;
  private final SessionIndex index;
  private final DeferredPackets deferred;
  private final PacketBatch batch = new PacketBatch();
  private PacketCipher cipher;

  // Packets that may fail to decrypt: of all; of each network; and, when these have no tokens, from
  // the addresses of validated sessions.

  private RateLimiter failures;
  private AddressRateLimiter failuresOfNetworks;
  private RateLimiter failuresOfValidated;

  PacketDecrypter(
      SessionTable.Handler handler,
      Receiver receiver,
      KcpContext context,
      PacketCipher cipher,
      SessionIndex index) {
    this.handler = handler;
    this.receiver = receiver;
    this.counters = context.total();
    this.cipher = cipher;
    this.index = index;
    deferred = new DeferredPackets(context);
    failuresPerSecond(DEFAULT_FAILURES_PER_SECOND);
  }

  void cipher(PacketCipher cipher) {
    this.cipher = cipher;
  }

  /**
   * Sets how many packets a second may fail to decrypt.
   *
   * @param perSecond 1 to a million
   */
  void failuresPerSecond(int perSecond) {
    int ofNetwork = Math.max(perSecond / NETWORK_SHARE, 1);
    failures = new RateLimiter(perSecond, burst(perSecond));
    failuresOfValidated = new RateLimiter(perSecond, burst(perSecond));
    failuresOfNetworks =
        new AddressRateLimiter(
            AddressRateLimiter.Scope.NETWORK, NETWORK_BUCKETS, ofNetwork, burst(ofNetwork));
  }

  private static int burst(int perSecond) {
    return Math.max(perSecond / BURST_SHARE, 1);
  }

  /**
   * Decrypts a datagram in place, and passes it to the receiver unless it is refused, which is
   * counted. Too many packets from the address of a validated session that no key opens may have
   * another source: then a copy of the datagram waits for the end of the batch, when {@link
   * #endBatch} decrypts it.
   */
  void receive(InetSocketAddress remote, ByteBuf datagram, long nowUs) {
    if (cipher.isUnencrypted()) {
      receiver.receive(remote, datagram, 0, null, nowUs);
      return;
    }
    if (!failures.hasToken(nowUs) || !failuresOfNetworks.hasToken(remote, nowUs)) {
      if (!index.isValidated(remote, nowUs)) {
        counters.add(KcpCounter.DECRYPT_SKIPPED, 1);
      } else if (!deferred.add(remote, datagram)) {
        receiveOfValidated(remote, datagram, nowUs);
      }
      return;
    }
    batch.reset(datagram).add(datagram.readerIndex(), datagram.writerIndex());
    cipher.open(batch, MIN_PACKET_BYTES, remote);
    if (batch.isRefused(0)) {
      failures.takeOrOwe(nowUs);
      failuresOfNetworks.takeOrOwe(remote, nowUs);
    }
    endPacket(remote, datagram, nowUs);
  }

  /**
   * Decrypts a datagram in place that comes from the address of a validated session, by the key
   * that has opened the last one of its sessions that could not be a replay.
   */
  private void receiveOfValidated(InetSocketAddress remote, ByteBuf datagram, long nowUs) {
    if (!failuresOfValidated.hasToken(nowUs)) {
      counters.add(KcpCounter.DECRYPT_SKIPPED, 1);
      return;
    }
    batch.reset(datagram).add(datagram.readerIndex(), datagram.writerIndex());
    cipher.openWithKey(batch, MIN_PACKET_BYTES, remote, index.packetKey(remote));
    if (batch.isRefused(0)) {
      failuresOfValidated.takeOrOwe(nowUs);
    }
    endPacket(remote, datagram, nowUs);
  }

  private void endPacket(InetSocketAddress remote, ByteBuf datagram, long nowUs) {
    if (batch.isRefused(0)) {
      countFailed(remote, datagram);
      return;
    }
    datagram.setIndex(batch.start(0), batch.end(0));
    receiver.receive(remote, datagram, batch.nonceBytes(0), batch.key(0), nowUs);
  }

  private void countFailed(InetSocketAddress remote, ByteBuf packet) {
    counters.add(KcpCounter.DECRYPT_FAILED, 1);
    boolean isPlaintext = isPlaintext(packet);
    if (isPlaintext) {
      counters.add(KcpCounter.PLAINTEXT_RECEIVED, 1);
    }
    handler.mismatched(
        isPlaintext ? KcpCounter.PLAINTEXT_RECEIVED : KcpCounter.DECRYPT_FAILED, remote);
  }

  /** Whether a packet that no key opens would begin a session if it were not to be encrypted. */
  private static boolean isPlaintext(ByteBuf packet) {
    int start = packet.readerIndex();
    if (PacketDemux.fecType(packet) == FecPacket.DATA && PacketDemux.isSizeTrue(packet)) {
      packet.readerIndex(start + FecPacket.DATA_HEADER_BYTES);
    }
    FirstPacket.Kind kind = FirstPacket.classify(packet);
    packet.readerIndex(start);
    return kind == FirstPacket.Kind.BEGINS || kind == FirstPacket.Kind.PROBES;
  }

  /** Decrypts the packets that have waited for the end of their batch. */
  void endBatch(long nowUs) {
    for (DeferredPackets.Packet packet; (packet = deferred.poll()) != null; ) {
      try {
        receiveOfValidated(packet.remote(), packet.sealed(), nowUs);
      } finally {
        deferred.release(packet);
      }
    }
  }

  /** Drops the packets that wait. */
  void close() {
    deferred.clear();
  }

  /**
   * Sealed packets from the addresses of validated sessions that are opened at the end of their
   * batch, behind those of all others, since too many packets from there could not be opened.
   * Bounded in packets, and by the memory budget. Owns the copies.
   */
  static final class DeferredPackets {

    /** The socket receives no more than about this many datagrams in a batch. */
    static final int MAX_PACKETS = 128;

    /** A packet and the address that it has come from. */
    record Packet(InetSocketAddress remote, ByteBuf sealed) {}

    private final KcpContext context;
    private final Deque<Packet> packets = new ArrayDeque<>(0);

    DeferredPackets(KcpContext context) {
      this.context = context;
    }

    /** Adds a copy of a packet; returns false if there is no room for it. */
    boolean add(InetSocketAddress remote, ByteBuf packet) {
      int bytes = packet.readableBytes();
      if (packets.size() == MAX_PACKETS || !context.budget().tryReserveUnvalidated(bytes)) {
        return false;
      }
      ByteBuf copy = null;
      try {
        copy = context.allocator().buffer(bytes, bytes);
        packets.add(new Packet(remote, copy.writeBytes(packet, packet.readerIndex(), bytes)));
        return true;
      } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
        context.total().add(KcpCounter.ALLOCATION_FAILED, 1);
        context.budget().releaseUnvalidated(bytes);
        if (copy != null) {
          copy.release();
        }
        return false;
      }
    }

    /** Removes the oldest packet, to be {@linkplain #release released}; null if there is none. */
    Packet poll() {
      return packets.poll();
    }

    void release(Packet packet) {
      context.budget().releaseUnvalidated(packet.sealed.maxCapacity());
      packet.sealed.release();
    }

    /** Drops all. */
    void clear() {
      for (Packet packet; (packet = poll()) != null; ) {
        release(packet);
      }
    }
  }
}
