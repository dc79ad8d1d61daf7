package io.kcp4j.internal.path;

import static io.kcp4j.internal.wire.HashMixer.mix;

import io.kcp4j.internal.crypto.SipHash;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The key of a session: remote address and conversation id. Comparable, so that a hash map stays
 * fast with keys that somebody has chosen to collide: it keeps them in a tree.
 */
public final class SessionKey implements Comparable<SessionKey> {

  private InetSocketAddress remote;
  private int conv;

  public SessionKey(InetSocketAddress remote, int conv) {
    set(remote, conv);
  }

  /** Changes this key, which must not be in a map. */
  public void set(InetSocketAddress remote, int conv) {
    this.remote = remote;
    this.conv = conv;
  }

  public SessionKey copy() {
    return new SessionKey(remote, conv);
  }

  public InetSocketAddress remote() {
    return remote;
  }

  public int conv() {
    return conv;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SessionKey key && conv == key.conv && remote.equals(key.remote);
  }

  @Override
  public int hashCode() {
    // The golden ratio spreads conversation ids that differ only in a few bits.
    return 31 * remote.hashCode() + conv * 0x9e3779b9;
  }

  @Override
  public int compareTo(SessionKey other) {
    int order = Integer.compare(conv, other.conv);
    if (order == 0) {
      order = Integer.compare(remote.getPort(), other.remote.getPort());
    }
    return order != 0
        ? order
        : Arrays.compare(remote.getAddress().getAddress(), other.remote.getAddress().getAddress());
  }

  @Override
  public String toString() {
    return "conv " + conv + " at " + remote;
  }

  /** Hashes session keys with a secret seed, so that nobody can choose keys that collide. */
  public static final class Hash {

    private static final int IPV4_BYTES = 4;
    private static final int IPV4_PREFIX_BYTES = 3;
    private static final int IPV6_PREFIX_BYTES = 7;

    /** Tells the hash of an address from an address. */
    private static final long HASHED = Long.MIN_VALUE;

    /** Whether the hash code of an IPv4 address is the address, as in every known JDK. */
    private static final boolean HAS_PLAIN_HASH_CODES =
        address(new byte[] {1, 2, 3, 4}).hashCode() == 0x01020304;

    private final long seed;

    /** With a seed of its own. */
    public Hash() {
      this(SipHash.newSeed());
    }

    public Hash(long seed) {
      this.seed = seed;
    }

    private static InetAddress address(byte[] bytes) {
      try {
        return InetAddress.getByAddress(bytes);
      } catch (UnknownHostException e) {
        throw new IllegalArgumentException(Arrays.toString(bytes), e);
      }
    }

    /**
     * The address and port in one number: themselves, which is not negative, if the address is one
     * of IPv4; else a hash, which is negative.
     */
    public long address(InetSocketAddress remote) {
      InetAddress address = remote.getAddress();
      if (HAS_PLAIN_HASH_CODES && address instanceof Inet4Address) {
        return Integer.toUnsignedLong(address.hashCode()) << Short.SIZE | remote.getPort();
      }
      long hash = mix(seed + remote.getPort()); // Otherwise a port could undo an address.
      if (address == null) {
        hash = mix(hash ^ remote.hashCode());
      } else {
        ByteBuffer bytes = ByteBuffer.wrap(address.getAddress());
        while (bytes.hasRemaining()) {
          hash = mix(hash ^ bytes.getInt());
        }
      }
      return hash | HASHED;
    }

    /** A hash of the network of an address: of 24 bits for IPv4, of 56 bits for IPv6. */
    public int prefix(InetSocketAddress remote) {
      InetAddress address = remote.getAddress();
      return address == null
          ? remote.hashCode()
          : prefix(
              address, address instanceof Inet4Address ? IPV4_PREFIX_BYTES : IPV6_PREFIX_BYTES);
    }

    /** A hash of an address without its port: of all of one of IPv4, of 56 bits of one of IPv6. */
    public int host(InetSocketAddress remote) {
      InetAddress address = remote.getAddress();
      return address == null
          ? remote.getHostString().hashCode()
          : prefix(address, address instanceof Inet4Address ? IPV4_BYTES : IPV6_PREFIX_BYTES);
    }

    public int prefix(InetAddress address, int prefixBytes) {
      byte[] bytes = address.getAddress();
      long prefix = 0;
      for (int i = 0; i < prefixBytes; i++) {
        prefix = prefix << Byte.SIZE | (bytes[i] & 0xff);
      }
      return (int) mix(prefix ^ seed);
    }

    /** The hash of what {@link #address(InetSocketAddress)} has returned and a conversation id. */
    public long of(long address, int conv) {
      return mix(mix(address ^ seed) + conv);
    }
  }
}
