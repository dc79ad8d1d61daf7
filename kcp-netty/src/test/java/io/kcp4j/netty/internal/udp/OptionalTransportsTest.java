package io.kcp4j.netty.internal.udp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNotSame;

import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import org.junit.jupiter.api.Test;

/** NIO works without the artifacts of the native transports. */
class OptionalTransportsTest {

  /** Loads the classes of this project again, and none of a native transport. */
  private static final class WithoutNativeTransports extends ClassLoader {

    WithoutNativeTransports() {
      super(OptionalTransportsTest.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (name.matches("io\\.netty\\.channel\\.(epoll|uring|kqueue|unix)\\..*")) {
        throw new ClassNotFoundException(name);
      }
      if (!name.startsWith("io.kcp4j.netty.")) {
        return super.loadClass(name, resolve);
      }
      Class<?> loaded = findLoadedClass(name);
      return loaded != null ? loaded : define(name);
    }

    private Class<?> define(String name) throws ClassNotFoundException {
      try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] bytes = in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }

  @Test
  void nioNeedsNoOtherTransport() throws Exception {
    Class<?> transport =
        Class.forName(UdpTransport.class.getName(), true, new WithoutNativeTransports());
    assertNotSame(UdpTransport.class, transport);
    Method of = transport.getDeclaredMethod("of", EventLoop.class);
    of.setAccessible(true);
    Method newDatagramChannel = transport.getDeclaredMethod("newDatagramChannel");
    newDatagramChannel.setAccessible(true);
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    try {
      Object nio = of.invoke(null, group.next());

      assertEquals("NIO", nio.toString());
      assertNotNull(newDatagramChannel.invoke(nio));
    } finally {
      group.shutdownGracefully();
    }
  }
}
