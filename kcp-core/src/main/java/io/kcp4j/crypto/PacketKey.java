package io.kcp4j.crypto;

import io.kcp4j.Unstable;
import io.kcp4j.internal.crypto.AeadCipher;
import io.kcp4j.internal.crypto.Cfb;
import io.kcp4j.internal.crypto.ChecksumCipher;
import io.kcp4j.internal.crypto.CipherLibrary;
import io.kcp4j.internal.crypto.JceLibrary;
import io.kcp4j.internal.crypto.KeyMaterial;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.crypto.PacketCipher.KeyCipher;
import io.kcp4j.internal.crypto.Salsa20Kernel;
import io.kcp4j.internal.crypto.StreamCipher;
import java.nio.charset.StandardCharsets;
import java.security.Provider;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import javax.security.auth.Destroyable;

/**
 * A cipher algorithm with its key, for a {@link KeyRing}. Immutable except for its counts of
 * packets, and safe to share between threads. Equality is identity, and {@link #toString} does not
 * show the key.
 *
 * <p>{@link #destroy} zeroes the bytes of the key in this object. Intermediate results of deriving
 * a key from a passphrase, and the keys passed to ciphers, are zeroed directly after their use. Not
 * zeroed are the {@link String} of the passphrase, the state of ciphers until it is collected, such
 * as the expanded keys of the JCE, and copies that the garbage collector leaves behind when it
 * moves any of this.
 */
public final class PacketKey implements Destroyable {

  /**
   * The usage limit of a key, in packets sealed by all peers together. With random nonces of 12
   * bytes, the probability that two of them are equal, which would break an AEAD, is then about
   * 2<sup>-35</sup>.
   */
  public static final long USAGE_LIMIT = 1L << 31;

  private static final byte[] KCPTUN_SALT = "kcp-go".getBytes(StandardCharsets.US_ASCII);
  private static final int KCPTUN_ROUNDS = 4096;

  private final String name;
  private final int headroom;
  private final int tailroom;
  private final boolean isAuthenticated;
  private final BiFunction<byte[], Provider, KeyCipher> ciphers;
  private final Provider provider;

  /** Shared by all keys that differ in the provider only; empty for custom ciphers. */
  private final KeyMaterial material;

  /** Whether there is anything to destroy. */
  private final boolean isSecret;

  private final Uses uses;

  private PacketKey(
      String name,
      int headroom,
      int tailroom,
      boolean isAuthenticated,
      BiFunction<byte[], Provider, KeyCipher> ciphers,
      Provider provider,
      KeyMaterial material,
      boolean isSecret,
      Uses uses) {
    this.name = name;
    this.headroom = headroom;
    this.tailroom = tailroom;
    this.isAuthenticated = isAuthenticated;
    this.ciphers = ciphers;
    this.provider = provider;
    this.material = material;
    this.isSecret = isSecret;
    this.uses = uses;
  }

  /**
   * A raw key.
   *
   * @param key of {@link CipherAlgorithm#keyBytes} bytes, which are copied
   * @throws IllegalArgumentException if it is of another length
   */
  public static PacketKey of(CipherAlgorithm algorithm, byte[] key) {
    if (key.length != algorithm.keyBytes()) {
      throw new IllegalArgumentException(
          "key: " + key.length + " bytes (expected: " + algorithm.keyBytes() + ")");
    }
    preload(algorithm);
    return new PacketKey(
        algorithm.kcptunName(),
        algorithm.headroom(),
        algorithm.tailroom(),
        algorithm.isAuthenticated(),
        (bytes, provider) -> keyCipher(algorithm, bytes, provider),
        null,
        new KeyMaterial(key.clone(), algorithm.kcptunName()),
        key.length > 0,
        new Uses());
  }

  /** Loading a library may take a third of a second: do it here, not on an event loop. */
  private static void preload(CipherAlgorithm algorithm) {
    if (algorithm == CipherAlgorithm.SALSA20) {
      Salsa20Kernel.preferred();
    } else if (algorithm != CipherAlgorithm.NULL) {
      CipherLibrary.preferred();
    }
  }

  /**
   * The key that kcptun derives from its {@code --key}: PBKDF2-HMAC-SHA1, salt "kcp-go", 4096
   * rounds.
   */
  public static PacketKey ofPassphrase(CipherAlgorithm algorithm, String phrase) {
    return ofPassphrase(algorithm, phrase, KCPTUN_SALT, KCPTUN_ROUNDS);
  }

  /**
   * A key derived by PBKDF2-HMAC-SHA1. Takes milliseconds: not for an event loop.
   *
   * @param phrase taken as UTF-8; not used if the algorithm has no key
   * @param rounds at least 1
   */
  public static PacketKey ofPassphrase(
      CipherAlgorithm algorithm, String phrase, byte[] salt, int rounds) {
    if (rounds < 1) {
      throw new IllegalArgumentException("rounds: " + rounds + " (expected: >= 1)");
    }
    byte[] secret = phrase.getBytes(StandardCharsets.UTF_8);
    byte[] key = KeyMaterial.pbkdf2(secret, salt, rounds, algorithm.keyBytes());
    try {
      return of(algorithm, key);
    } finally {
      Arrays.fill(secret, (byte) 0);
      Arrays.fill(key, (byte) 0);
    }
  }

  /**
   * A custom AEAD; a packet consists of nonce, ciphertext and tag.
   *
   * @param name for {@link #name}
   * @param aeads supplies a new instance for each {@link PacketCipher}, on any thread
   * @throws IllegalArgumentException if its nonce or tag is out of range
   */
  public static PacketKey ofAead(String name, Supplier<? extends Aead> aeads) {
    Aead first = aeads.get();
    checkRange("nonceBytes", first.nonceBytes(), 8, 32);
    checkRange("tagBytes", first.tagBytes(), 1, 64);
    return new PacketKey(
        name,
        first.nonceBytes(),
        first.tagBytes(),
        true,
        (none, provider) -> new AeadCipher(aeads.get()),
        null,
        new KeyMaterial(new byte[0], name),
        true,
        new Uses());
  }

  /**
   * A custom block cipher, in CFB mode with nonce and checksum.
   *
   * @param name for {@link #name}
   * @param blockCiphers supplies a new instance for each {@link PacketCipher}, on any thread
   * @throws IllegalArgumentException if its blocks have neither 8 nor 16 bytes
   */
  public static PacketKey ofBlockCipher(String name, Supplier<? extends BlockCipher> blockCiphers) {
    int blockBytes = blockCiphers.get().blockBytes();
    if (blockBytes != 8 && blockBytes != 16) {
      throw new IllegalArgumentException("blockBytes: " + blockBytes + " (expected: 8 or 16)");
    }
    return new PacketKey(
        name,
        CipherAlgorithm.NONE.headroom(),
        CipherAlgorithm.NONE.tailroom(),
        false,
        (none, provider) -> new ChecksumCipher(Cfb.of(blockCiphers.get())),
        null,
        new KeyMaterial(new byte[0], name),
        true,
        new Uses());
  }

  private static KeyCipher keyCipher(CipherAlgorithm algorithm, byte[] key, Provider provider) {
    return switch (algorithm) {
      case AES_128_GCM, AES_192_GCM, AES_256_GCM, CHACHA20_POLY1305 ->
          new AeadCipher(JceLibrary.of(provider).aead(algorithm, key));
      case NULL -> new KeyCipher.None();
      default -> new ChecksumCipher(StreamCipher.of(algorithm, key, provider));
    };
  }

  private static void checkRange(String name, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: " + min + " to " + max + ")");
    }
  }

  /**
   * The same key, and the same count, with AES, GCM, ChaCha20 and Triple DES computed by this JCE
   * provider and not by {@link CipherLibrary#preferred}; the other algorithms do not use the JCE.
   *
   * @throws IllegalArgumentException if the provider lacks the algorithm
   * @throws IllegalStateException if the key has been destroyed
   */
  public PacketKey withProvider(Provider provider) {
    PacketKey key =
        new PacketKey(
            name, headroom, tailroom, isAuthenticated, ciphers, provider, material, isSecret, uses);
    key.newCipher(); // Throws here if the provider lacks the algorithm, not at the first packet.
    return key;
  }

  /**
   * Derives a secret for another purpose, by HKDF with HMAC-SHA256 (RFC 5869).
   *
   * @param purpose the use of the secret; secrets for different uses tell nothing of each other
   * @param bytes the size of the secret
   * @return null if the key has no secret bytes, as those of custom ciphers
   * @throws IllegalStateException if the key has been destroyed
   */
  @Unstable
  public byte[] derive(String purpose, int bytes) {
    byte[] key = material.getEncoded();
    if (key.length == 0) {
      return null;
    }
    try {
      return KeyMaterial.hkdf(key, new byte[0], purpose.getBytes(StandardCharsets.UTF_8), bytes);
    } finally {
      Arrays.fill(key, (byte) 0);
    }
  }

  /** The kcptun name of the algorithm, or the name of the custom cipher. */
  public String name() {
    return name;
  }

  /** The bytes that sealing adds before the payload. */
  public int headroom() {
    return headroom;
  }

  /** The bytes that sealing adds after the payload. */
  public int tailroom() {
    return tailroom;
  }

  /** Whether it is an AEAD, which detects every modification of a packet. */
  public boolean isAuthenticated() {
    return isAuthenticated;
  }

  /**
   * The number of packets sealed and opened with this key, on all threads, to compare with {@link
   * #USAGE_LIMIT}: peers have sealed as many as were opened, unless the network has duplicated
   * some. A thread adds opened packets when it seals, and otherwise after about 256 of them.
   */
  public long uses() {
    return seals() + opens();
  }

  long seals() {
    return uses.seals.getOpaque();
  }

  long opens() {
    return uses.opens.getOpaque();
  }

  /**
   * Whether the caller has to warn that the key has reached {@link #USAGE_LIMIT}. True once for
   * each key. On any thread.
   */
  @Unstable
  public boolean claimUsageWarning() {
    return uses() >= USAGE_LIMIT && uses.wasWarned.compareAndSet(false, true);
  }

  /** Counts packets sealed. */
  @Unstable
  public void addSeals(int packets) {
    uses.seals.getAndAdd(packets);
  }

  /** Counts packets opened. */
  @Unstable
  public void addOpens(int packets) {
    uses.opens.getAndAdd(packets);
  }

  /**
   * New state for one thread.
   *
   * @throws IllegalStateException if the key has been destroyed
   */
  @Unstable
  public KeyCipher newCipher() {
    byte[] bytes = material.getEncoded();
    try {
      return ciphers.apply(bytes, provider);
    } finally {
      Arrays.fill(bytes, (byte) 0);
    }
  }

  /**
   * Zeroes the bytes of the key: no further ciphers can be made with it, nor with the same key with
   * another provider. Existing ciphers continue to work, and with them sockets that use the key.
   * Custom ciphers have keys of their own, which are not destroyed. {@link CipherAlgorithm#NULL}
   * and {@link CipherAlgorithm#NONE} have no key and cannot be destroyed. On any thread.
   */
  @Override
  public void destroy() {
    if (isSecret) {
      material.destroy();
    }
  }

  @Override
  public boolean isDestroyed() {
    return material.isDestroyed();
  }

  @Override
  public String toString() {
    return "PacketKey[" + name + ", seals=" + seals() + "]";
  }

  /** Shared by all keys that differ in the provider only. */
  private static final class Uses {

    final AtomicLong seals = new AtomicLong();
    final AtomicLong opens = new AtomicLong();
    final AtomicBoolean wasWarned = new AtomicBoolean();
  }
}
