package io.kcp4j.netty.internal;

import io.netty.channel.Channel;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.RecvByteBufAllocator;
import java.net.SocketAddress;

/** Forwards all calls to another {@code Unsafe}; subclasses change some of them. */
public class ForwardingUnsafe implements Channel.Unsafe {

  /** The one to which calls are forwarded. */
  protected final Channel.Unsafe unsafe;

  /** Makes one that forwards all calls. */
  protected ForwardingUnsafe(Channel.Unsafe unsafe) {
    this.unsafe = unsafe;
  }

  @Override
  public void register(EventLoop eventLoop, ChannelPromise promise) {
    unsafe.register(eventLoop, promise);
  }

  @Override
  @SuppressWarnings("deprecation") // The interface names the deprecated type.
  public RecvByteBufAllocator.Handle recvBufAllocHandle() {
    return unsafe.recvBufAllocHandle();
  }

  @Override
  public SocketAddress localAddress() {
    return unsafe.localAddress();
  }

  @Override
  public SocketAddress remoteAddress() {
    return unsafe.remoteAddress();
  }

  @Override
  public void bind(SocketAddress localAddress, ChannelPromise promise) {
    unsafe.bind(localAddress, promise);
  }

  @Override
  public void connect(SocketAddress remote, SocketAddress local, ChannelPromise promise) {
    unsafe.connect(remote, local, promise);
  }

  @Override
  public void disconnect(ChannelPromise promise) {
    unsafe.disconnect(promise);
  }

  @Override
  public void close(ChannelPromise promise) {
    unsafe.close(promise);
  }

  @Override
  public void closeForcibly() {
    unsafe.closeForcibly();
  }

  @Override
  public void deregister(ChannelPromise promise) {
    unsafe.deregister(promise);
  }

  @Override
  public void beginRead() {
    unsafe.beginRead();
  }

  @Override
  public void write(Object msg, ChannelPromise promise) {
    unsafe.write(msg, promise);
  }

  @Override
  public void flush() {
    unsafe.flush();
  }

  @Override
  public ChannelPromise voidPromise() {
    return unsafe.voidPromise();
  }

  @Override
  public ChannelOutboundBuffer outboundBuffer() {
    return unsafe.outboundBuffer();
  }
}
