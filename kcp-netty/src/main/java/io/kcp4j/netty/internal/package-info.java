/**
 * What several kinds of channels share. Not exported; for the packages of {@code io.kcp4j.netty}
 * only.
 */
package io.kcp4j.netty.internal;
