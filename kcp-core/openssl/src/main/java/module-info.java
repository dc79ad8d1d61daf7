/**
 * AES and the AEADs of OpenSSL 3 of the system. Used if {@code libcrypto.so.3} is found, and
 * ignored otherwise.
 *
 * @provides io.kcp4j.internal.crypto.CipherLibrary
 */
module io.kcp4j.core.openssl {
  requires io.kcp4j.core;

  exports io.kcp4j.crypto.openssl;

  provides io.kcp4j.internal.crypto.CipherLibrary with
      io.kcp4j.crypto.openssl.OpenSslLibrary;
}
