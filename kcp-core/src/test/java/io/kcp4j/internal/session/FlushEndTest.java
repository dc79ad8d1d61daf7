package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** The end of a flush reaches the FEC of the session and the driver's output, in this order. */
class FlushEndTest {

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final Kcp kcp = new Kcp(7, KcpConfig.DEFAULT, context, 0);
  private final FecLayer fec =
      new FecLayer(new FecContext(MemoryAccount.of(context.budget())), kcp.counters());
  private final Path path = new Path(new InetSocketAddress(NetUtil.LOCALHOST, 1111));
  private final PacketOutput packets = new PacketOutput(KeyRing.NONE.newCipher());
  private final StringBuilder calls = new StringBuilder();

  private final DatagramOutput driver =
      new DatagramOutput() {
        @Override
        public ByteBuf begin(int maxBytes) {
          return Unpooled.buffer(maxBytes);
        }

        @Override
        public void end() {
          calls.append("packet ");
        }

        @Override
        public void endFlush() {
          calls.append("flush ");
        }
      };

  private String send(int segments) {
    calls.setLength(0);
    path.validate();
    kcp.send(Unpooled.buffer().writeZero(segments * kcp.mssBytes()));
    kcp.afterSend(0, packets.to(driver, path, fec, 1400, 0));
    return calls.toString().trim();
  }

  @Test
  void everyFlushThatWritesEndsOnceBehindItsPacketsParityAndCopies() {
    assertEquals("packet packet flush", send(2));
    assertEquals("", send(0));
    fec.configure(FecConfig.of(2, 1));
    kcp.reconfigure(KcpConfig.DEFAULT, 8);
    assertEquals("packet packet packet flush", send(2));
    fec.configure(FecConfig.adaptive()); // Copies, until the peer has answered.
    assertEquals("packet packet packet packet flush", send(2));
    kcp.close();
    fec.close();
  }
}
