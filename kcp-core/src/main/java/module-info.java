/** The KCP state machine, and sessions over it: no I/O, no clock, no threads. */
module io.kcp4j.core {
  requires transitive io.netty.buffer;
  requires io.netty.common;
  requires org.bouncycastle.provider;

  exports io.kcp4j;
  exports io.kcp4j.crypto;
  exports io.kcp4j.fec;
  exports io.kcp4j.session;

  uses io.kcp4j.crypto.CipherLibrary;
  uses io.kcp4j.crypto.Salsa20Kernel;
  uses io.kcp4j.fec.ShardKernel;
}
