/** Forward error correction of datagrams by Reed-Solomon codes, in kcp-go's format. */
package io.kcp4j.internal.fec;
