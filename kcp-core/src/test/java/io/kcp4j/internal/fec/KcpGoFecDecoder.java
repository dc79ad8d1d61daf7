package io.kcp4j.internal.fec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A model of the FEC decoder of kcp-go v5.6.72: which packets it recovers, and when. A packet of
 * the wrong type for its place makes it ignore all packets until it has found a ratio, be it the
 * same. A group that has been recovered begins anew with its next packet.
 *
 * <p>Until such a packet has arrived, it recovers by the ratio that it has begun with. Sessions
 * that are not configured to use FEC begin with 1/1. So parity at an odd place that arrives before
 * data at an odd place and parity at an even one yields a datagram that was never sent.
 */
public final class KcpGoFecDecoder {

  private static final int MAX_SHARDS = 256;

  /** How many groups before the newest are kept. */
  private static final int MAX_OLD_GROUPS = 3;

  private final KcpGoRatioDetector detector = new KcpGoRatioDetector();

  /** By their number: the shards that have arrived, by their places. */
  private final Map<Integer, byte[][]> groups = new HashMap<>();

  private int dataShards;
  private int parityShards;
  private boolean isDetecting;
  private int newestGroup;

  /** Makes a decoder that begins with the given ratio. */
  public KcpGoFecDecoder(int dataShards, int parityShards) {
    this.dataShards = dataShards;
    this.parityShards = parityShards;
  }

  /** Takes a data or parity packet, whose indices stay; returns the datagrams that it recovers. */
  public List<byte[]> input(ByteBuf packet) {
    int index = packet.readerIndex();
    boolean isData = FecPacket.type(packet, index) == FecPacket.DATA;
    int seqid = FecPacket.seqid(packet, index);
    detector.sample(isData, seqid);
    int shards = dataShards + parityShards;
    if (Integer.toUnsignedLong(seqid) >= FecPacket.paws(shards)) {
      return List.of();
    }
    int place = Integer.remainderUnsigned(seqid, shards);
    isDetecting |= isData != place < dataShards;
    if (isDetecting) {
      detect();
      return List.of();
    }
    int number = Integer.divideUnsigned(seqid, shards);
    byte[][] group = groups.computeIfAbsent(number, unused -> new byte[shards][]);
    if (group[place] != null) {
      return List.of();
    }
    int start = index + FecPacket.HEADER_BYTES;
    group[place] = ByteBufUtil.getBytes(packet, start, packet.writerIndex() - start, true);
    List<byte[]> recovered = complete(group);
    forgetOldGroups(number);
    return recovered;
  }

  private void detect() {
    int data = detector.runLength(true);
    int parity = detector.runLength(false);
    if (data > 0 && parity > 0 && data + parity < MAX_SHARDS) {
      if (data != dataShards || parity != parityShards) {
        dataShards = data;
        parityShards = parity;
        groups.clear();
      }
      isDetecting = false;
    }
  }

  /** Recovers what is missing of a group that has enough shards, which empties the group. */
  private List<byte[]> complete(byte[][] group) {
    boolean[] present = new boolean[group.length];
    int count = 0;
    int maxBytes = 0;
    for (int i = 0; i < group.length; i++) {
      present[i] = group[i] != null;
      count += present[i] ? 1 : 0;
      maxBytes = Math.max(maxBytes, present[i] ? group[i].length : 0);
    }
    if (count < dataShards) {
      return List.of();
    }
    long[][] rows = rows(group, Shards.longs(maxBytes));
    Arrays.fill(group, null);
    ReedSolomon.of(dataShards, parityShards).reconstructData(rows, present, Shards.longs(maxBytes));
    byte[][] shards = Shards.toBytes(rows, maxBytes);
    List<byte[]> recovered = new ArrayList<>();
    for (int i = 0; i < dataShards; i++) {
      if (!present[i]) {
        addDatagram(shards[i], recovered);
      }
    }
    return recovered;
  }

  private static long[][] rows(byte[][] group, int longs) {
    long[][] rows = new long[group.length][longs];
    for (int i = 0; i < group.length; i++) {
      if (group[i] != null) {
        byte[] padded = Arrays.copyOf(group[i], longs * Long.BYTES);
        ByteBuffer.wrap(padded).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(rows[i]);
      }
    }
    return rows;
  }

  /** The shard begins with a size, which may be wrong. */
  private static void addDatagram(byte[] shard, List<byte[]> recovered) {
    int size = shard.length < 2 ? 0 : (shard[0] & 0xff) | (shard[1] & 0xff) << 8;
    if (size >= FecPacket.SIZE_BYTES && size <= shard.length) {
      recovered.add(Arrays.copyOfRange(shard, FecPacket.SIZE_BYTES, size));
    }
  }

  private void forgetOldGroups(int number) {
    int shards = dataShards + parityShards;
    if ((number - newestGroup) * shards > 0) {
      newestGroup = number;
    }
    groups.keySet().removeIf(old -> (newestGroup - old) * shards > MAX_OLD_GROUPS * shards);
  }
}
