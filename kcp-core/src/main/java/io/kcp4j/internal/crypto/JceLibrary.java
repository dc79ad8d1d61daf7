package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.internal.kernel.KernelChoice;
import java.security.GeneralSecurityException;
import java.security.Provider;
import java.security.spec.AlgorithmParameterSpec;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceLoader;
import javax.crypto.Cipher;
import javax.crypto.ShortBufferException;

/**
 * Ciphers of the JCE, and the choice between them and the libraries that are found as services.
 *
 * @param provider of the ciphers, or null for the JVM's preferred providers
 */
public record JceLibrary(Provider provider) implements CipherLibrary {

  static final String NAME = "jce";
  static final JceLibrary PREFERRED = new JceLibrary(null);

  /** The library for a provider, or the preferred library if that is null. */
  public static CipherLibrary of(Provider provider) {
    return provider == null ? CipherLibrary.preferred() : new JceLibrary(provider);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Aead aead(CipherAlgorithm algorithm, byte[] key) {
    return algorithm == CipherAlgorithm.CHACHA20_POLY1305
        ? JceAead.chacha20Poly1305(key, provider)
        : JceAead.aesGcm(key, provider);
  }

  @Override
  public BlockCipher aes(byte[] key) {
    return blockCipher("AES", key);
  }

  /** A block cipher by its name in the JCE. */
  BlockCipher blockCipher(String algorithm, byte[] key) {
    Cipher ecb = encrypting(algorithm, "ECB", key, null, provider);
    return new JceBlockCipher(ecb, ecb.getBlockSize());
  }

  /**
   * A cipher of {@code provider}, or of the JVM's preferred provider if that is null.
   *
   * @throws IllegalArgumentException if there is none
   */
  static Cipher cipher(String transformation, Provider provider) {
    try {
      return provider == null
          ? Cipher.getInstance(transformation)
          : Cipher.getInstance(transformation, provider);
    } catch (GeneralSecurityException e) {
      throw missing(transformation, provider, e);
    }
  }

  /**
   * A block cipher that encrypts in a mode without padding. It has copied the key.
   *
   * @param parameters of the mode, or null if it has none
   * @throws IllegalArgumentException if the provider has no such cipher
   */
  static Cipher encrypting(
      String algorithm,
      String mode,
      byte[] key,
      AlgorithmParameterSpec parameters,
      Provider provider) {
    Cipher cipher = cipher(algorithm + "/" + mode + "/NoPadding", provider);
    KeyMaterial secret = new KeyMaterial(key.clone(), algorithm);
    try {
      if (parameters == null) {
        cipher.init(Cipher.ENCRYPT_MODE, secret);
      } else {
        cipher.init(Cipher.ENCRYPT_MODE, secret, parameters);
      }
      return cipher;
    } catch (GeneralSecurityException e) {
      throw missing(algorithm, provider, e);
    } finally {
      secret.destroy();
    }
  }

  private static IllegalArgumentException missing(
      String name, Provider provider, GeneralSecurityException cause) {
    return new IllegalArgumentException(
        "provider: " + provider + " (expected: one of " + name + ")", cause);
  }

  /** A block cipher in ECB mode. */
  private record JceBlockCipher(Cipher ecb, int blockBytes) implements BlockCipher {

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      encryptBlocks(in, inIndex, out, outIndex, 1);
    }

    @Override
    public void encryptBlocks(byte[] in, int inIndex, byte[] out, int outIndex, int blocks) {
      try {
        ecb.update(in, inIndex, blocks * blockBytes, out, outIndex);
      } catch (ShortBufferException e) {
        throw new IllegalStateException("encryption failed", e);
      }
    }
  }

  /** Which library is in use, and why: the first service that loads, or the JCE. */
  record Choice(CipherLibrary library, String reason) {

    static final Choice CURRENT =
        choose(
            System.getProperty(PROPERTY),
            ServiceLoader.load(CipherLibrary.class, CipherLibrary.class.getClassLoader())
                .iterator());

    /**
     * Chooses among services.
     *
     * @param name of the only library to consider, or null
     */
    static Choice choose(String name, Iterator<CipherLibrary> services) {
      String named = "named by " + PROPERTY;
      if (NAME.equals(name)) {
        return new Choice(PREFERRED, named);
      }
      List<Throwable> failures = new ArrayList<>();
      List<CipherLibrary> loaded = KernelChoice.load(services, failures::add);
      String reason =
          failures.isEmpty()
              ? "no other library found"
              : "a library does not load: " + cause(failures.get(failures.size() - 1));
      for (CipherLibrary library : loaded) {
        if (name == null) {
          return new Choice(library, "found");
        }
        if (library.name().equals(name)) {
          return new Choice(library, named);
        }
        reason = library.name() + " is not " + name;
      }
      return new Choice(PREFERRED, reason);
    }

    private static Throwable cause(Throwable thrown) {
      Throwable cause = thrown;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      return cause;
    }
  }
}
