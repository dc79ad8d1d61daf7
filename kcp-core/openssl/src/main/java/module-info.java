/**
 * AES and the AEADs by the system's OpenSSL 3. It is used where {@code libcrypto.so.3} is found,
 * and ignored where it is not.
 *
 * @provides io.kcp4j.crypto.CipherLibrary
 */
module io.kcp4j.core.openssl {
  requires io.kcp4j.core;

  exports io.kcp4j.crypto.openssl;

  provides io.kcp4j.crypto.CipherLibrary with
      io.kcp4j.crypto.openssl.OpenSslLibrary;
}
