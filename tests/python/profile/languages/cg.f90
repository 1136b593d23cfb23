module sparse
  implicit none
  real(8), allocatable :: values(:)
  integer, allocatable :: columns(:), rows(:)
contains
  subroutine make_matrix(n, per_row)
    integer, intent(in) :: n, per_row
    integer :: i, j
    integer(8) :: x
    allocate(values(n * per_row))
    allocate(columns(n * per_row))
    allocate(rows(n + 1))
    x = 12345
    do i = 1, n
      rows(i) = (i - 1) * per_row + 1
      do j = 1, per_row
        x = mod(x * 1103515245_8 + 12345_8, 2147483648_8)
        columns(rows(i) + j - 1) = int(mod(x, int(n, 8))) + 1
        values(rows(i) + j - 1) = 0.5d0 / per_row
      end do
    end do
    rows(n + 1) = n * per_row + 1
  end subroutine
  subroutine multiply(n, x, y)
    integer, intent(in) :: n
    real(8), intent(in) :: x(n)
    real(8), intent(out) :: y(n)
    integer :: i, k
    real(8) :: total
    do i = 1, n
      total = 0
      do k = rows(i), rows(i + 1) - 1
        total = total + values(k) * x(columns(k))
      end do
      y(i) = total
    end do
  end subroutine
end module

program cg
  use sparse
  implicit none
  integer, parameter :: n = 200000
  real(8) :: x(n), y(n)
  common /vectors/ x, y
  integer :: step
  real(8), allocatable :: work(:)
  call make_matrix(n, 12)
  allocate(work(n))
  x = 1.0d0
  do step = 1, 8
    call multiply(n, x, y)
    work = y
    x = 1.0d0 + work
  end do
  print *, sum(x) / n
end program
