/** How configurations hold, check and refuse channel options. Not exported. */
package io.kcp4j.netty.internal.options;
