/** Ciphers of packets: those of kcp-go, AEADs, and nonces. */
package io.kcp4j.internal.crypto;
