package io.kcp4j.command;

import io.netty.channel.IoEventLoop;
import io.netty.channel.IoHandle;
import io.netty.channel.IoHandler;
import io.netty.channel.IoHandlerContext;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.IoOps;
import io.netty.channel.IoRegistration;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SingleThreadIoEventLoop;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollIoOps;
import java.util.concurrent.Executor;

/**
 * Event loops of epoll that keep a socket registered while its channel waits for no event.
 *
 * <p>Netty removes such a socket from epoll and then fails to modify it when the channel waits for
 * an event again (since netty/netty#16689, and still in 4.2.20). A TCP connection whose peer has
 * ended its output, but reads slowly, would be closed with writes pending.
 */
final class EpollGroup extends MultiThreadIoEventLoopGroup {

  /** Registered for errors only, each of which epoll reports once. */
  private static final EpollIoOps IDLE = EpollIoOps.EPOLLET;

  EpollGroup(int threads) {
    super(threads, EpollIoHandler.newFactory());
  }

  @Override
  protected IoEventLoop newChild(Executor executor, IoHandlerFactory factory, Object... args) {
    return new SingleThreadIoEventLoop(
        this, executor, loop -> new RegisteringHandler(factory.newHandler(loop))) {

      @Override
      public boolean isIoType(Class<? extends IoHandler> type) {
        return type == EpollIoHandler.class;
      }
    };
  }

  private record RegisteringHandler(IoHandler epoll) implements IoHandler {

    @Override
    public void initialize() {
      epoll.initialize();
    }

    @Override
    public int run(IoHandlerContext context) {
      return epoll.run(context);
    }

    @Override
    public void prepareToDestroy() {
      epoll.prepareToDestroy();
    }

    @Override
    public void destroy() {
      epoll.destroy();
    }

    @Override
    public IoRegistration register(IoHandle handle) throws Exception {
      return new LastingRegistration(epoll.register(handle));
    }

    @Override
    public void wakeup() {
      epoll.wakeup();
    }

    @Override
    public boolean isCompatible(Class<? extends IoHandle> type) {
      return epoll.isCompatible(type);
    }
  }

  private static final class LastingRegistration implements IoRegistration {

    private final IoRegistration registration;

    /** Whether the socket has been added to epoll. */
    private boolean isAdded;

    LastingRegistration(IoRegistration registration) {
      this.registration = registration;
    }

    @Override
    @SuppressWarnings("TypeParameterUnusedInFormals") // As Netty declares it.
    public <T> T attachment() {
      return registration.attachment();
    }

    @Override
    public synchronized long submit(IoOps ops) {
      boolean isIdle = ops.equals(EpollIoOps.NONE);
      if (isIdle && isAdded) {
        return registration.submit(IDLE);
      }
      isAdded |= !isIdle;
      return registration.submit(ops);
    }

    @Override
    public boolean isValid() {
      return registration.isValid();
    }

    @Override
    public boolean cancel() {
      return registration.cancel();
    }
  }
}
